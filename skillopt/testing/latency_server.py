"""An OpenAI-compatible server that simulates a provider: latency, refusals, faults, a concurrency cap.

Latencies are lognormal and, like faults, a pure function of (seed, request bytes, how often these bytes were asked), so
two runs that ask the same questions meet the same provider whatever the order and width. Every request is counted by
the hash of its body: `started` when it arrives, `completed` when a whole answer was sent, which is what a provider
would bill. Run it as a script (`--help`), or use `LatencyServer` as an async context manager; `GET /stats` and
`POST /behaviour` serve tests that run it in another process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import hashlib
import json
import math
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from statistics import NormalDist

from aiohttp import web

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.testing.stats import Stats, Tally

Usage = JsonObject
Answer = Callable[[JsonObject], tuple[str, "Usage | None"]]

ERRORS = {
    401: "Incorrect API key provided.",
    429: "Rate limit reached for requests. Please slow down.",
    500: "The server had an error while processing your request.",
    503: "The service is temporarily unavailable.",
}


@dataclass(frozen=True)
class Behaviour:
    """How the simulated provider behaves. Rates are shares of requests, 0 to 1; times are seconds.

    `repeatable` False draws new luck for each arrival instead of from the request's bytes. `dead` answers 500 to
    everything, `unauthorized` 401, `unavailable` 503, and so it does `down_for_s` long from `down_after_s` after the
    first arrival. Above `width` concurrent requests the next one waits (`reject_above_width` False)
    or gets a 429.
    """

    median_s: float = 0.0
    sigma: float = 0.6
    seed: int = 0
    repeatable: bool = True
    rate_429: float = 0.0
    retry_after_s: float | None = 1.0
    rate_500: float = 0.0
    rate_cut: float = 0.0
    rate_length: float = 0.0
    rate_empty_body: float = 0.0
    rate_empty_content: float = 0.0
    dead: bool = False
    unauthorized: bool = False
    unavailable: bool = False
    down_after_s: float | None = None
    down_for_s: float = 60.0
    width: int | None = None
    reject_above_width: bool = False
    with_usage: bool = True


def echo(body: JsonObject) -> tuple[str, Usage | None]:
    """The default answer: the last message, with usage counted from text lengths."""
    content = as_object(as_array(body["messages"])[-1])["content"]
    text = content if isinstance(content, str) else json.dumps(content)
    return text, counted(body, text)


def counted(body: JsonObject, text: str) -> Usage:
    """A usage block with a quarter of the characters as tokens."""
    prompt = sum(len(str(as_object(m)["content"])) for m in as_array(body["messages"])) // 4 + 1
    completion = max(1, len(text) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class LatencyServer:
    """The server. `behaviour` may be replaced while it runs; `stats` is live; `bodies` keeps requests when asked."""

    def __init__(
        self, behaviour: Behaviour | None = None, answer: Answer = echo, *, port: int = 0, keep_bodies: bool = False
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.answer = answer
        self.stats = Stats()
        self.bodies: list[dict[str, JsonValue]] | None = [] if keep_bodies else None
        self.headers: list[dict[str, str]] = []
        self.port = port
        self._arrivals = 0
        self._first: float | None = None
        self._places: asyncio.Semaphore | None = None
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Base URL for clients, with `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> LatencyServer:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/stats", self._stats)
        app.router.add_post("/behaviour", self._set_behaviour)
        # Handlers end when the client hangs up, so that an abandoned call frees its place as at a real provider.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _luck(self, key: str, nth: int, purpose: str) -> float:
        """A uniform number in (0, 1) for one decision about one arrival."""
        b = self.behaviour
        where = f"{key}:{nth}" if b.repeatable else str(self._arrivals)
        raw = hashlib.blake2b(f"{b.seed}:{purpose}:{where}".encode(), digest_size=8).digest()
        return (int.from_bytes(raw, "big") + 0.5) / 2**64

    def _latency(self, key: str, nth: int) -> float:
        b = self.behaviour
        if b.median_s <= 0:
            return 0.0
        return b.median_s * math.exp(b.sigma * NormalDist().inv_cdf(self._luck(key, nth, "latency")))

    def _fate(self, key: str, nth: int) -> str:
        """What becomes of an arrival: `ok` or the name of a fault."""
        b = self.behaviour
        if b.unauthorized:
            return "401"
        if b.unavailable or self._is_down():
            return "503"
        if b.dead:
            return "500"
        luck = self._luck(key, nth, "fate")
        for name, rate in (
            ("429", b.rate_429),
            ("500", b.rate_500),
            ("cut", b.rate_cut),
            ("length", b.rate_length),
            ("empty_body", b.rate_empty_body),
            ("empty_content", b.rate_empty_content),
        ):
            if luck < rate:
                return name
            luck -= rate
        return "ok"

    def _is_down(self) -> bool:
        b = self.behaviour
        if b.down_after_s is None or self._first is None:
            return False
        return b.down_after_s <= time.monotonic() - self._first < b.down_after_s + b.down_for_s

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        arrived = time.monotonic()
        key = hashlib.sha256(raw).hexdigest()
        tally = self.stats.requests.setdefault(key, Tally())
        tally.started += 1
        self._arrivals += 1
        self._first = arrived if self._first is None else self._first
        body: dict[str, JsonValue] = json.loads(raw)
        if self.bodies is not None:
            self.bodies.append(body)
            self.headers.append({k.lower(): v for k, v in request.headers.items()})
        status = 0
        try:
            response = await self._respond(request, body, key, tally)
            status = response.status
            return response
        finally:
            self.stats.statuses[status] = self.stats.statuses.get(status, 0) + 1
            self.stats.log.append((arrived, time.monotonic(), status))

    async def _respond(self, request: web.Request, body: JsonObject, key: str, tally: Tally) -> web.StreamResponse:
        nth = tally.started
        fate = self._fate(key, nth)
        if fate in ("401", "429", "503"):
            return self._error(int(fate))
        b = self.behaviour
        if b.width is not None and b.reject_above_width and self.stats.busy >= b.width:
            return self._error(429)
        async with self._place():
            await asyncio.sleep(self._latency(key, nth))
            if fate == "500":
                return self._error(500)
            return await self._deliver(request, body, fate, tally)

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncGenerator[None, None]:
        b = self.behaviour
        waits = b.width is not None and not b.reject_above_width
        if waits and self._places is None:
            self._places = asyncio.Semaphore(b.width or 1)
        async with self._places if waits and self._places is not None else contextlib.nullcontext():
            self.stats.occupy(1)
            try:
                yield
            finally:
                self.stats.occupy(-1)

    async def _deliver(self, request: web.Request, body: JsonObject, fate: str, tally: Tally) -> web.StreamResponse:
        text, usage = self.answer(body)
        finish = "stop"
        if fate == "length":
            text, finish = text[: max(1, len(text) // (1 + tally.started))], "length"
            usage = counted(body, text) if usage is not None else None
        elif fate == "empty_content":
            text = ""
        reply: dict[str, JsonValue] = {
            "id": f"chatcmpl-{self._arrivals}",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        }
        if self.behaviour.with_usage and usage is not None:
            reply["usage"] = dict(usage)
        raw = json.dumps(reply).encode()
        if fate == "empty_body":
            return web.Response(body=b"", content_type="application/json")
        if fate == "cut":
            return await self._cut(request, raw)
        tally.completed += 1
        return web.Response(body=raw, content_type="application/json")

    async def _cut(self, request: web.Request, raw: bytes) -> web.StreamResponse:
        """Half of the promised bytes, then the connection ends."""
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(raw))})
        await response.prepare(request)
        await response.write(raw[: len(raw) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    def _error(self, status: int) -> web.Response:
        headers: dict[str, str] = {}
        if status == 429 and self.behaviour.retry_after_s is not None:
            headers["Retry-After"] = f"{self.behaviour.retry_after_s:g}"
        return web.json_response({"error": {"message": ERRORS[status]}}, status=status, headers=headers)

    async def _stats(self, _: web.Request) -> web.Response:
        self.stats.occupy(0)
        return web.json_response(self.stats.to_json())

    async def _set_behaviour(self, request: web.Request) -> web.Response:
        self.behaviour = dataclasses.replace(self.behaviour, **await request.json())
        return web.json_response(dataclasses.asdict(self.behaviour))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Simulate an OpenAI-compatible provider on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port, printed on the first line")
    for option in dataclasses.fields(Behaviour):
        flag = "--" + option.name.replace("_", "-")
        if isinstance(option.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=option.default)
        else:
            kind = int if option.name in ("seed", "width") else float
            parser.add_argument(flag, type=kind, default=option.default)
    return parser.parse_args()


async def serve(behaviour: Behaviour, *, port: int = 0, answer: Answer = echo) -> None:
    """Serve until cancelled; prints the base URL on its own line first."""
    async with LatencyServer(behaviour, answer, port=port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    options = vars(_arguments())
    chosen_port = options.pop("port")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(Behaviour(**options), port=chosen_port))
