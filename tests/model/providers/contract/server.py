"""What strict provider servers have in common: one asks, one is scripted, everything that came in is kept.

A provider's module says how its protocol looks (`Protocol`): which path, which headers, which fields, how a reply and
how an error is written. A request that the real provider would refuse is refused here in the provider's own words. The
script speaks of `Say` and `Fault`, which every protocol can express.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODEL = "model-1"
KEY = "sk-test-" + "0a1b2c3d" * 4


@dataclass
class Seen:
    """A request that the protocol accepted, in no provider's words."""

    system: str = ""
    turns: list[tuple[str, str]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    tool_choice: Any = None
    tool_results: dict[str, str] = field(default_factory=dict)
    schema: Any = None
    cap: int = 0
    effort: str = ""
    temperature: float | None = None


@dataclass
class Say:
    """A reply. Usage is (prompt, completion, cached, reasoning); None leaves the whole block out."""

    text: str = "ok"
    finish: str = "stop"
    usage: tuple[int, int, int, int] | None = (100, 20, 64, 5)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    refusal: str = ""


@dataclass
class Fault:
    """Anything but a reply: a status in the provider's words, raw bytes, a cut connection, or silence."""

    status: int = 0
    words: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "application/json"
    cut: bool = False
    hang: bool = False


class Refused(Exception):
    """The protocol does not accept the request."""

    def __init__(self, status: int, words: str, kind: str = "") -> None:
        super().__init__(words)
        self.status, self.words, self.kind = status, words, kind


class Protocol:
    """One provider. `refuse` are parameters that the served model does not take."""

    def __init__(self, refuse: frozenset[str] = frozenset()) -> None:
        self.refuse = refuse

    def accept(self, request: web.Request, body: Any) -> Seen:
        """The request in neutral words. Raises `Refused`."""
        raise NotImplementedError

    def reply(self, say: Say, cap: int) -> Any:
        """A 200's body."""
        raise NotImplementedError

    def error(self, status: int, words: str, kind: str = "") -> Any:
        """A failure's body."""
        raise NotImplementedError


Script = Callable[[Seen], "Say | Fault"]


class ProviderServer:
    """Speaks one protocol on a port of this machine, as an async context manager."""

    def __init__(self, protocol: Protocol, script: Script | None = None) -> None:
        self.protocol = protocol
        self.script: Script = script or (lambda seen: Say())
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.seen: list[Seen] = []
        self.refusals: list[Refused] = []
        self.in_flight = 0
        self.dropped = 0
        self.arrived = asyncio.Event()

    async def __aenter__(self) -> ProviderServer:
        app = web.Application(client_max_size=32 << 20)
        app.router.add_route("*", "/{tail:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.dropped += 1
            raise
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.headers.append(dict(request.headers))
        self.paths.append(request.path_qs)
        try:
            body = json.loads(text)
            self.bodies.append(body)
            seen = self.protocol.accept(request, body)
        except Refused as refusal:
            self.refusals.append(refusal)
            return self._json(self.protocol.error(refusal.status, refusal.words, refusal.kind), refusal.status)
        self.seen.append(seen)
        self.arrived.set()
        answer = self.script(seen)
        if isinstance(answer, Say):
            return self._json(self.protocol.reply(answer, seen.cap))
        return await self._fail(request, answer)

    async def _fail(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault.hang:
            await asyncio.sleep(60)
        if fault.cut:
            whole = json.dumps(self.protocol.reply(Say("x" * 1000), 10_000)).encode()
            response = web.StreamResponse(
                headers={"Content-Length": str(len(whole)), "Content-Type": "application/json"}
            )
            await response.prepare(request)
            await response.write(whole[: len(whole) // 2])
            assert request.transport is not None
            request.transport.close()
            return response
        if fault.raw is not None:
            return web.Response(body=fault.raw, content_type=fault.content_type, status=fault.status or 200)
        return self._json(self.protocol.error(fault.status, fault.words), fault.status, fault.headers)

    @staticmethod
    def _json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
        return web.json_response(body, status=status, headers=headers or {})


def only(value: Mapping[str, Any], allowed: Collection[str], where: str = "") -> None:
    """Refuse a field that the protocol does not know."""
    for name in value:
        if name not in allowed:
            raise Refused(400, f"Unrecognized request argument supplied: {where}{name}")
