"""Any `/chat/completions` endpoint over plain `urllib`: five tries with jitter, `Retry-After` honoured.

A key goes only to the host it was given for, and over plain HTTP only to this machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from skillopt.core.errors import FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.core.shorten import shorten
from skillopt.sleep.backends.base import Answer, Question

TRIES = 5
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ChatEndpoint:
    """A `Backend`. `base_url` up to and including `/v1`."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    extra: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
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
        attempt = 1
        while True:
            try:
                return await asyncio.to_thread(self._once, question)
            except TransientModelError as fault:
                if attempt == TRIES:
                    raise
                wait = fault.retry_after or self.pause_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
                await asyncio.sleep(min(wait, 60.0))
                attempt += 1

    def _once(self, question: Question) -> Answer:
        body: dict[str, JsonValue] = {
            **self.extra,
            "model": self.model,
            "messages": [{"role": "user", "content": question.prompt}],
            "max_tokens": question.max_tokens,
        }
        request = urllib.request.Request(
            f"{self.base_url.rstrip('/')}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **self._authorization()},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as response:
                return _answer(as_object(parse_json(response.read())))
        except urllib.error.HTTPError as fault:
            raise self._error(fault) from fault
        except (OSError, ValueError) as fault:
            raise TransientModelError(f"{self.base_url}: {fault}", unreachable=True) from fault

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def _error(self, fault: urllib.error.HTTPError) -> ModelError:
        words = shorten(fault.read(2_000).decode("utf-8", "replace"), 200, [self.api_key])
        message = f"{self.base_url}: HTTP {fault.code}: {words}"
        if fault.code in (401, 403, 404):
            return FatalModelError(message, cause="model" if fault.code == 404 else "key")
        if fault.code in (408, 409, 429) or fault.code >= 500:
            after = fault.headers.get("Retry-After", "")
            wait = float(after) if after.isdigit() else None
            return TransientModelError(message, retry_after=wait, overloaded=fault.code == 429)
        return ModelError(message, cause="request")


def _answer(body: JsonObject) -> Answer:
    choices = as_array(body.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    message = as_object(choice.get("message"))
    if not choice or not isinstance(message.get("content"), str):
        raise TransientModelError("the endpoint sent no message", cause="empty")
    usage = as_object(body.get("usage"))

    def count(name: str) -> int | None:
        value = as_number(usage.get(name))
        return None if value is None else int(value)

    return Answer(
        as_text(message.get("content")),
        count("prompt_tokens"),
        count("completion_tokens"),
        cut=choice.get("finish_reason") == "length",
    )
