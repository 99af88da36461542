"""The driver's model proxy: an HTTP server at one address of this machine, for the agent programs of one run.

Every unit of work has a token of its own, valid while the unit runs and refused afterwards; calls that are still under
way when their unit ends are cancelled. The key stays here. Whoever opens the proxy closes it (`aclose`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from skillopt.core.errors import ConfigError
from skillopt.model.client import CallJournal
from skillopt.model.providers.wire.endpoint import is_loopback
from skillopt.model.proxy.relay import KEY_HEADERS, Relay, Torn, Upstream, refusal
from skillopt.model.proxy.routes import dialect_of, read_request
from skillopt.model.proxy.unit import ProxiedUnit, Purse
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.limiter import Limiter

_MOST_BYTES = 256 * 1024 * 1024
_HEALTH = "/healthz"


class ModelProxy:
    """See the module. `host` is both what is listened on and what nodes are told; `port` 0 takes a free one."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        host: str,
        port: int = 0,
        journal: CallJournal,
        limiter: Limiter,
        breaker: Breaker,
        purse: Purse,
    ) -> None:
        self.upstream, self.host, self.port, self.purse = upstream, host, port, purse
        self._journal, self._limiter, self._breaker = journal, limiter, breaker
        self._units: dict[str, ProxiedUnit] = {}
        self._calls: dict[str, set[asyncio.Task[object]]] = {}
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()

    @property
    def root(self) -> str:
        """The address that programs are given, without `/v1`. Known once it is open."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    async def open(self) -> None:
        """Listen; does nothing when it does. Raises `ConfigError` for an address that is not this machine's."""
        async with self._starting:
            if self._runner is not None:
                return
            application = web.Application(client_max_size=_MOST_BYTES)
            application.router.add_route("*", "/{path:.*}", self._handle)
            runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            try:
                await web.TCPSite(runner, self.host, self.port).start()
            except OSError as error:
                await runner.cleanup()
                raise ConfigError(
                    f"the model proxy cannot listen at {self.host}:{self.port}: {error.strerror or error}",
                    hint="set executor.proxy_address to an address of this machine that the nodes reach",
                ) from error
            self.port = int(runner.addresses[0][1])
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
            connector = aiohttp.TCPConnector(limit=0)
            here = is_loopback(urlsplit(self.upstream.root).hostname or "")
            self._session = aiohttp.ClientSession(
                timeout=timeout, connector=connector, trust_env=not here, cookie_jar=aiohttp.DummyCookieJar()
            )
            self._runner = runner

    @asynccontextmanager
    async def admitted(self, unit: ProxiedUnit) -> AsyncGenerator[ProxiedUnit]:
        """The unit's token is good inside, and nothing of the unit is under way afterwards."""
        await self.open()
        self._units[unit.token] = unit
        self._calls[unit.token] = set()
        try:
            yield unit
        finally:
            del self._units[unit.token]
            calls = self._calls.pop(unit.token)
            for call in calls:
                call.cancel()
            if calls:
                await asyncio.wait(calls)

    async def aclose(self) -> None:
        """Stop listening. Idempotent."""
        runner, session = self._runner, self._session
        self._runner = self._session = None
        if runner is not None:
            await runner.cleanup()
        if session is not None:
            await session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == _HEALTH or (request.method == "HEAD" and request.path == "/"):
            return web.Response(text="skillopt\n")
        unit = self._units.get(_token(request))
        if unit is None:
            return refusal(401, "this token is not valid: its unit of work has ended, or never began")
        dialect = dialect_of(request.method, request.path)
        if dialect is None or self._session is None:
            return refusal(404, f"{request.method} {request.path} is nothing that agent programs need")
        task = asyncio.current_task()
        calls = self._calls[unit.token]
        if task is not None:
            calls.add(task)
        try:
            body = await request.read()
            try:
                asked = read_request(dialect, request.path, body)
            except ValueError as error:
                return refusal(400, f"the body cannot be read: {error}")
            relay = Relay(
                self.upstream, self._session, self._journal, self._limiter, self._breaker, unit, request, asked, body
            )
            try:
                return await relay.answer()
            except Torn as error:
                if request.transport is not None:
                    request.transport.abort()
                raise web.HTTPBadGateway(text=str(error)) from error
        finally:
            if task is not None:
                calls.discard(task)


def _token(request: web.Request) -> str:
    for name in KEY_HEADERS:
        value = request.headers.get(name, "")
        if value:
            return value[7:].strip() if value[:7].lower() == "bearer " else value.strip()
    return request.query.get("key", "")
