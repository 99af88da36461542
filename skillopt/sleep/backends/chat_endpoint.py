"""Any `/chat/completions` endpoint over plain `urllib`: five tries with jitter, `Retry-After` honoured.

A key goes only to the host it was given for (redirects are not followed), and over plain HTTP only to this machine. A
failure that comes in a reply of status 200 is a failure. Cancelled, a question is left behind at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from skillopt.core.aio import in_own_thread
from skillopt.core.errors import Cause, FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text, parse_json
from skillopt.core.replies.ending import ending_of
from skillopt.core.replies.reported_failure import reported_failure, status_told
from skillopt.core.shorten import shorten
from skillopt.sleep.backends.base import Answer, Question

TRIES = 5
_MOST_BYTES = 32 * 2**20
_LIMITS = ("max_tokens", "max_completion_tokens")
"""What the limit of a reply's length is called: everywhere, and where a server refuses that."""
_LASTING: Mapping[int, Cause] = {401: "key", 402: "credit", 403: "key", 404: "model"}
"""Failures that the next try will meet again."""
_MOST_TOKENS = 10**12
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ChatEndpoint:
    """A `Backend`. `base_url` up to and including `/v1`."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    extra: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    most_tokens: int = 8_192
    """Longest reply asked for."""
    timeout_s: float = 240.0
    pause_s: float = 1.0
    name: str = "openai_compatible"
    overhead: int = 50

    def __post_init__(self) -> None:
        where = urlsplit(self.base_url)
        if where.scheme not in ("http", "https") or not where.hostname:
            raise FatalModelError(f"{self.base_url!r} is no address of a model", hint="set OPENAI_BASE_URL")
        if self.api_key and where.scheme == "http" and where.hostname not in _LOOPBACK:
            raise FatalModelError(f"{self.base_url}: a key is not sent without TLS", hint="use https")

    async def ask(self, question: Question) -> Answer:
        attempt, limit = 1, _LIMITS[0]
        while True:
            try:
                return await self._in_time(question, limit)
            except TransientModelError as fault:
                if attempt == TRIES:
                    raise
                wait = fault.retry_after or self.pause_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
                await asyncio.sleep(min(wait, 60.0))
                attempt += 1
            except ModelError as fault:
                if limit == _LIMITS[1] or _LIMITS[1] not in fault.message:
                    raise
                limit = _LIMITS[1]

    async def _in_time(self, question: Question, limit: str) -> Answer:
        try:
            return await asyncio.wait_for(in_own_thread(lambda: self._once(question, limit)), self.timeout_s)
        except asyncio.TimeoutError:
            raise TransientModelError(f"{self.base_url}: no answer within {self.timeout_s:.0f} s") from None

    def _once(self, question: Question, limit: str) -> Answer:
        body: dict[str, JsonValue] = {
            **self.extra,
            "model": self.model,
            "messages": [{"role": "user", "content": question.prompt}],
            limit: min(question.max_tokens, self.most_tokens),
        }
        request = urllib.request.Request(
            f"{self.base_url.rstrip('/')}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **self._authorization()},
        )
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.timeout_s) as response:
                return self._answer(as_object(parse_json(response.read(_MOST_BYTES))))
        except urllib.error.HTTPError as fault:
            raise self._error(fault) from fault
        except (OSError, ValueError, HTTPException) as fault:
            raise TransientModelError(f"{self.base_url}: {fault}", unreachable=True) from fault

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def _error(self, fault: urllib.error.HTTPError) -> ModelError:
        words = shorten(_said(fault).decode("utf-8", "replace"), 200, [self.api_key])
        message = f"{self.base_url}: HTTP {fault.code}: {words}"
        if 300 <= fault.code < 400:
            return FatalModelError(f"{message} (moved to {fault.headers.get('Location', 'nowhere')})", cause="moved")
        if fault.code in _LASTING:
            return FatalModelError(message, cause=_LASTING[fault.code])
        if fault.code in (408, 409, 429) or fault.code >= 500:
            after = fault.headers.get("Retry-After", "")
            wait = float(after) if after.isascii() and after.isdigit() else None
            return TransientModelError(message, retry_after=wait, overloaded=fault.code == 429)
        return ModelError(message, cause="request")

    def _answer(self, body: JsonObject) -> Answer:
        choices = as_array(body.get("choices"))
        choice = as_object(choices[0]) if choices else {}
        ending = ending_of(choice.get("finish_reason"))
        told = reported_failure(body)
        if told is not None or ending == "failed":
            raise self._failed(choice.get("finish_reason") if told is None else told)
        text = as_object(choice.get("message")).get("content")
        if ending == "unknown":  # nobody knows whether such a reply is whole
            raise TransientModelError(
                f"{self.base_url}: the reply ended with {shorten(str(choice['finish_reason']), 60)}"
            )
        if ending == "refusal" and text is None:
            text = ""
        if not isinstance(text, str):
            raise TransientModelError(f"{self.base_url}: the endpoint sent no message", cause="empty")
        usage = as_object(body.get("usage"))
        return Answer(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), cut=ending == "length")

    def _failed(self, said: JsonValue) -> ModelError:
        """A failure inside a reply of status 200."""
        words = as_text(as_object(said).get("message")) or json.dumps(said, ensure_ascii=False)
        message = f"{self.base_url}: the endpoint failed: {shorten(words, 200, [self.api_key])}"
        cause = _LASTING.get(status_told(said))
        return FatalModelError(message, cause=cause) if cause is not None else TransientModelError(message)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error of its status: `urllib` would send the key along, to whatever host it names."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def _said(fault: urllib.error.HTTPError) -> bytes:
    """The body of an error's reply: nothing where it breaks off, its status says enough."""
    try:
        return fault.read(2_000)
    except (OSError, HTTPException):
        return b""


def _count(usage: JsonObject, name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
