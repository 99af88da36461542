"""One request of an agent program, passed on to the model server under this run's key, limits, journal and budget.

The answer goes back byte for byte, a stream as it comes. What fails before a byte was passed on is tried again as any
call of the run is; what the server refuses for good goes back as it said it. A stream that breaks is broken for the
program too. Whole answers are journalled, so that a unit that is repeated pays for none of them again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from skillopt.core.errors import FatalModelError, ModelError, StopRun, TransientModelError
from skillopt.model.client import CallJournal
from skillopt.model.prices import Price
from skillopt.model.providers.wire.endpoint import LEAST_REAL_KEY
from skillopt.model.providers.wire.reply import inner_error, status_error
from skillopt.model.proxy.routes import Asked, read_answer
from skillopt.model.proxy.unit import ProxiedUnit
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.limiter import Limiter
from skillopt.model.traffic.passage import Passage
from skillopt.model.traffic.retry import Backoff, Deadline, with_retries
from skillopt.model.types import Usage
from skillopt.model.usage import believable, usage_from_json
from skillopt.store.journal import Entry, Recorded

KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_NOT_PASSED = frozenset(
    (*KEY_HEADERS, "host", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "cookie",
     "content-length", "accept-encoding", "proxy-authorization", "proxy-connection", "expect", "forwarded")
)  # fmt: skip
_PASSED_BACK = ("content-type", "retry-after", "retry-after-ms", "x-request-id", "request-id", "x-should-retry")


@dataclass(frozen=True)
class Upstream:
    """The model server behind the proxy. `root` is its address without `/v1`."""

    root: str
    key: str = field(repr=False)
    model: str
    """What is asked for where a request names no model."""
    attempts: int
    price: Callable[[str], Price | None]
    backoff: Backoff = field(default_factory=Backoff)


class Torn(ModelError):
    """The answer broke off when part of it was passed on."""


@dataclass
class Relay:
    """One request on its way."""

    upstream: Upstream
    session: aiohttp.ClientSession
    journal: CallJournal
    limiter: Limiter
    breaker: Breaker
    unit: ProxiedUnit
    request: web.Request
    asked: Asked
    body: bytes
    _begun: web.StreamResponse | None = None
    """The response, once a byte of it was passed on."""
    _refused: tuple[int, dict[str, str], bytes] | None = None
    """What the server said when it refused last."""

    async def answer(self) -> web.StreamResponse:
        """The answer, or the server's own refusal. Raises `Torn`."""
        try:
            if self.asked.dialect == "free":
                await self._made("")
            else:
                key = self.unit.call_key(self.request.path, self.body)
                entry = await self.journal.once(key, lambda: self._made(key), label="a call of an agent program")
                if isinstance(entry, Entry) and not entry.fresh:
                    return self._from_journal(entry.value)
        except StopRun as error:
            if not isinstance(error, FatalModelError):
                self.unit.stop(error)
            return self._failed(error)
        except Torn:
            raise
        except ModelError as error:
            return self._failed(error)
        assert self._begun is not None
        return self._begun

    def _from_journal(self, value: Mapping[str, Any]) -> web.Response:
        self.unit.calls.append((usage_from_json(value["usage"]), value["usd"]))
        body = str(value["body"]).encode("utf-8", "surrogateescape")
        return web.Response(body=body, headers={"content-type": str(value["content_type"])})

    def _failed(self, error: Exception) -> web.StreamResponse:
        if self._begun is not None:
            raise Torn(str(error))
        if self._refused is not None:
            status, headers, body = self._refused
            return web.Response(status=status, headers=headers, body=body)
        return refusal(502 if isinstance(error, TransientModelError) else 403, str(error))

    async def _made(self, key: str) -> Recorded:
        """The call, by the ways of every call of the run."""
        unit = self.unit
        deadline = Deadline(unit.seconds)
        tokens = self.asked.prompt_tokens + self.asked.completion_tokens
        passage = Passage(self.limiter, self.breaker, request=key, priority=unit.priority, tokens=tokens)

        async def attempt() -> Recorded:
            return await passage.attempt(lambda: deadline.run(self._sent()), used=_taken)

        async def tries() -> Recorded:
            return await with_retries(
                attempt, attempts=self.upstream.attempts, deadline=deadline, backoff=self.upstream.backoff
            )

        return await passage.persist(tries, deadline)

    async def _sent(self) -> Recorded:
        """One request at most: covered before it is sent, settled with its answer."""
        asked, unit = self.asked, self.unit
        if asked.dialect == "free":
            return self._recorded(*await self._exchanged(), Usage(0, 0), 0.0, 0.0)
        model = asked.model or self.upstream.model
        price = self.upstream.price(model)
        most = Usage(asked.prompt_tokens, asked.completion_tokens)
        usd = None if price is None else price.bound(asked.prompt_tokens, asked.completion_tokens, cache="hour")
        tokens = asked.prompt_tokens + asked.completion_tokens
        await unit.cover(f"an agent's call of {model}", tokens, usd)
        started = time.monotonic()
        self._refused = None
        try:
            content_type, text = await self._exchanged()
            told = read_answer(asked.dialect, text, streamed=asked.streams)
        except BaseException as error:
            if isinstance(error, ModelError) and not isinstance(error, Torn):
                unit.uncover(tokens, usd)  # it was refused
            else:
                unit.used(most, usd, most, usd)
            raise
        usage = believable(told.usage, answered=told.complete)
        known = usage.prompt_tokens is not None and usage.completion_tokens is not None
        spent = price.usd(usage) if price is not None and known else None
        unit.used(most, usd, usage, spent)
        if not told.complete:
            raise Torn(f"{self._where}: the answer broke off")
        return self._recorded(content_type, text, usage, spent, time.monotonic() - started)

    def _recorded(self, content_type: str, text: str, usage: Usage, usd: float | None, seconds: float) -> Recorded:
        """What the journal keeps. The run's own row has the figures: here they stand beside the answer."""
        key = self.upstream.key
        kept = text.replace(key, "[redacted]") if len(key) >= LEAST_REAL_KEY else text
        return Recorded(
            value={"body": kept, "content_type": content_type, "usage": usage.to_json(), "usd": usd},
            kind="proxied",
            stage=self.unit.stage,
            role="target",
            model=self.upstream.model,
            calls=0,
            prompt_tokens=0,
            completion_tokens=0,
            cached_tokens=0,
            reasoning_tokens=0,
            usd=0.0,
            elapsed_s=seconds,
        )

    @property
    def _where(self) -> str:
        return f"{self.upstream.root}{self.request.path}"

    def _headers(self) -> dict[str, str]:
        """The program's own headers, with the key in the place of its token."""
        headers = {n: v for n, v in self.request.headers.items() if n.lower() not in _NOT_PASSED}
        name = next((n for n in KEY_HEADERS if n in self.request.headers), KEY_HEADERS[0])
        headers[name] = f"Bearer {self.upstream.key}" if name == "authorization" else self.upstream.key
        return {**headers, "accept-encoding": "identity"}

    async def _exchanged(self) -> tuple[str, str]:
        """Send, and pass on what comes. Returns content type and text. Raises `ModelError`, `Torn` once passing on."""
        query = {name: value for name, value in self.request.query.items() if name not in ("key", "api_key")}
        try:
            async with self.session.request(
                self.request.method,
                self._where,
                params=query,
                data=self.body or None,
                headers=self._headers(),
                allow_redirects=False,
            ) as response:
                return await self._passed_on(response)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            if self._begun is not None:
                raise Torn(f"{self._where}: {error}") from error
            raise TransientModelError(f"{self._where} cannot be reached: {error}", unreachable=True) from error

    async def _passed_on(self, response: aiohttp.ClientResponse) -> tuple[str, str]:
        headers = {name: response.headers[name] for name in _PASSED_BACK if name in response.headers}
        if response.status != 200:
            body = await response.read()
            self._refused = (response.status, headers, body)
            text = body.decode("utf-8", "replace")
            secrets = (self.upstream.key,)
            raise status_error(response.status, text, response.headers, where=self._where, secrets=secrets)
        whole = bytearray()
        if not self.asked.streams:
            whole += await response.read()
            text = whole.decode("utf-8", "surrogateescape")
            told = read_answer(self.asked.dialect, text, streamed=False)
            if self.asked.dialect != "free" and not told.complete:
                raise inner_error(told.error or text[:300] or "an empty body", self._where)
            self._begun = web.Response(body=bytes(whole), headers=headers)
            return headers.get("content-type", ""), text
        async for chunk in response.content.iter_any():
            if self._begun is None:
                self._begun = web.StreamResponse(headers=headers)
                await self._begun.prepare(self.request)
            whole += chunk
            await self._begun.write(chunk)
        if self._begun is None:
            raise TransientModelError(f"{self._where} answered with an empty body", cause="broken")
        return headers.get("content-type", ""), whole.decode("utf-8", "surrogateescape")


def refusal(status: int, words: str) -> web.Response:
    """An error in the shape that all dialects have in common."""
    kind = {401: "authentication_error", 404: "not_found_error", 502: "api_error"}.get(status, "permission_error")
    return web.json_response({"type": "error", "error": {"type": kind, "message": words, "code": kind}}, status=status)


def _taken(recorded: Recorded) -> int | None:
    usage: Mapping[str, int | None] = recorded.value["usage"]
    read, written = usage["prompt_tokens"], usage["completion_tokens"]
    return None if read is None or written is None else read + written
