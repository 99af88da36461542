"""Work on a Ray cluster, as the run sees it: an `Executor` whose workers are actors on nodes.

Ray lives in a child process (`pool`); this module and `link` never import it. A unit whose worker, node, or pool
process is lost is repeated, on another node where there is one, at most `attempts` times; what is cancelled has ended
on its node when the call returns. Many losses in a row stop the run with the last words of what was lost.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from skillopt.core.aio import undisturbed
from skillopt.core.errors import CircuitOpen, ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.executors.ray.link import end_pool, open_pool
from skillopt.executors.ray.settings import RaySettings
from skillopt.work.blobs import Blobs
from skillopt.work.errors import WorkerLost, given_up
from skillopt.work.handling import value_of
from skillopt.work.member import Lost, Member
from skillopt.work.registry import Handler, Registry
from skillopt.work.unit import Work

_CANCEL_S = 20.0
"""The pool process gives a worker up after ten."""
_UNCONNECTED_IN_A_ROW = 3


class RayExecutor:
    """An `Executor`. Nothing is started before the first unit."""

    name = "ray"

    def __init__(self, settings: RaySettings, *, attempts: int = 3, registry: Registry | None = None) -> None:
        self._settings, self._attempts = settings, attempts
        self._registry = registry or Registry()
        self._numbers = itertools.count(1)
        self._pool: Member | None = None
        self._connecting = asyncio.Lock()
        self._connected = False
        """Whether there was a connection: before that, a cluster that cannot be used is a fault of the set-up."""
        self._blobs: Blobs | None = None
        self._lost_in_a_row = 0
        self._unconnected = 0
        """Connections in a row that could not be made."""
        self._closed = False
        self.repeated = 0
        """Attempts that were lost with their worker."""

    @property
    def apart(self) -> bool:
        """See `Executor.apart`: nodes at an address have file systems of their own."""
        return bool(self._settings.address)

    @property
    def pool(self) -> Member | None:
        """The child process that holds the connection, once there is one."""
        return self._pool

    async def run(self, work: Work) -> JsonObject:
        """See `Executor.run`. Raises `CircuitOpen` when workers are lost again and again."""
        handler = self._registry.find(work.name)
        return value_of(await self._repeated(self._message("run", handler, work), work))

    @asynccontextmanager
    async def session(self, work: Work) -> AsyncGenerator[_Session]:
        """See `Executor.session`. Opening is repeated as a unit is; after that a lost worker is a lost session."""
        handler = Handler(self._registry.find(work.name).target)
        session = _Session(self, next(self._numbers), work)
        message = {**self._message("open", handler, work), "session": session.number}
        value_of(await self._repeated(message, work))
        assert self._pool is not None
        session.pool = self._pool
        try:
            yield session
        finally:
            await undisturbed(session.close())

    async def put(self, data: bytes) -> str:
        """See `Executor.put`."""
        return await asyncio.to_thread(self._store().put, data)

    async def nodes(self, programs: Sequence[str] = (), reach: str = "") -> list[JsonObject]:
        """One unit on every node: what each says of itself, and its `fault`; whether it reaches an address `HOST:PORT`.
        Raises `ConfigError`, `WorkerLost`."""
        message: JsonObject = {"do": "nodes", "programs": list(programs), "reach": reach}
        try:
            answer = await self.asked(await self._connected_pool(), message)
        except Lost as error:
            raise WorkerLost(f"the connection to the cluster {error}") from error
        return [as_object(node) for node in as_array(value_of(answer).get("nodes"))]

    async def facts(self) -> JsonObject:
        """Workers, cores and refused late answers, for people and tests."""
        return value_of(await self.asked(await self._connected_pool(), {"do": "facts"}))

    async def aclose(self) -> None:
        """See `Executor.aclose`."""
        self._closed = True
        async with self._connecting:
            if self._pool is not None:
                await undisturbed(end_pool(self._pool, next(self._numbers)))
                self._pool = None
        if self._blobs is not None:
            await asyncio.to_thread(shutil.rmtree, self._blobs.folder, True)
            self._blobs = None

    async def asked(self, pool: Member, message: JsonObject) -> JsonObject:
        """One request under a number of its own; ended there before a cancellation is let through. Raises `Lost`."""
        number = next(self._numbers)
        try:
            return await pool.ask(number, message)
        except asyncio.CancelledError:
            await undisturbed(self._cancelled(pool, number))
            raise

    async def _cancelled(self, pool: Member, number: int) -> None:
        if not await pool.cancel(number, _CANCEL_S):
            await pool.end()

    async def _repeated(self, message: JsonObject, work: Work) -> JsonObject:
        """Ask until there is an answer, or the attempts are used up."""
        attempts = work.attempts or self._attempts
        avoid: list[JsonValue] = []
        for attempt in range(1, attempts + 1):
            try:
                answer = await self.asked(await self._connected_pool(), {**message, "avoid": avoid})
                if "lost" not in answer:
                    self._lost_in_a_row = 0
                    return answer
                how = as_text(answer["lost"])
                avoid = [*avoid, *([answer["node"]] if answer.get("node") else [])]
            except Lost as error:
                how = f"of the cluster's connection {error}"
                if self._unconnected >= _UNCONNECTED_IN_A_ROW:
                    raise _unreachable(self._settings, str(error)) from error
            self.repeated += 1
            self._lost_in_a_row += 1
            if attempt == attempts or self._closed:
                raise self._given_up(work.name, attempt, how)
        raise AssertionError("at least one attempt is made")

    async def _connected_pool(self) -> Member:
        """The pool process, started where there is none. Raises `ConfigError` at the first connection, later `Lost`."""
        if self._pool is not None and self._pool.alive:
            return self._pool
        async with self._connecting:
            if self._closed:
                raise Lost("was not started: the executor is closed")
            if self._pool is not None:
                if self._pool.alive:
                    return self._pool
                await self._pool.end()
                self._pool = None
            opening = asyncio.ensure_future(open_pool(self._settings, self._store().folder))
            try:
                pool = await asyncio.shield(opening)
            except asyncio.CancelledError:
                await undisturbed(_undone(opening))
                raise
            except ConfigError as error:
                self._unconnected += 1
                if self._connected:
                    raise Lost(error.message) from error
                raise
            except (OSError, Lost) as error:
                self._unconnected += 1
                if not self._connected:
                    raise ConfigError(f"{_where(self._settings)} cannot be used: its connection {error}") from error
                raise Lost(f"could not be made: {error}") from error
            self._unconnected = 0
            self._pool, self._connected = pool, True
            return pool

    def _message(self, verb: str, handler: Handler, work: Work) -> JsonObject:
        return {
            "do": verb,
            "target": handler.target,
            "shared": handler.shared,
            "payload": work.payload,
            "files": work.files,
            "version": work.version,
            "needs": {"cpu": work.needs.cpu, "memory_mb": work.needs.memory_mb},
            "deadline_s": work.deadline_s,
            "open_s": work.open_s,
        }

    def _given_up(self, name: str, attempts: int, how: str) -> WorkerLost | CircuitOpen:
        hint = "skillopt doctor --executor ray looks at every node; executor.kind=local needs no cluster"
        return given_up(name, attempts, how, in_a_row=self._lost_in_a_row, hint=hint)

    def _store(self) -> Blobs:
        if self._blobs is None:
            self._blobs = Blobs.temporary()
        return self._blobs


class _Session:
    """A session held by one worker of the cluster."""

    def __init__(self, executor: RayExecutor, number: int, work: Work) -> None:
        self._executor, self._work = executor, work
        self.number = number
        self.pool: Member | None = None
        self._usable = True

    async def step(self, payload: JsonObject) -> JsonObject:
        """See `Session.step`."""
        return value_of(await self._asked("step", payload))

    async def close(self) -> None:
        """Let the other side clean up; a worker that is gone has nothing to clean."""
        if self._usable:
            value_of(await self._asked("close", {}))

    async def _asked(self, verb: str, payload: JsonObject) -> JsonObject:
        pool = self.pool
        if not self._usable or pool is None or not pool.alive:
            if verb == "close":
                return {"value": {}}
            raise WorkerLost(f"worker lost: the session of {self._work.name} has ended")
        self._usable = False  # until the answer is here: whatever comes between ends the session
        message: JsonObject = {
            "do": verb, "session": self.number, "payload": payload, "deadline_s": self._work.deadline_s,
        }  # fmt: skip
        try:
            answer = await self._executor.asked(pool, message)
        except Lost as error:
            raise WorkerLost(f"worker lost: the session of {self._work.name} {error}") from error
        if "lost" in answer:
            raise WorkerLost(f"worker lost: the session of {self._work.name} {answer['lost']}")
        failure = as_object(answer.get("error"))
        self._usable = failure.get("type") != "deadline"
        return answer


def create(settings: RaySettings, *, attempts: int, registry: Registry) -> RayExecutor:
    """The executor. Raises `ConfigError` where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(
            "executor.kind=ray needs Ray, which is not installed", hint="pip install 'skillopt[ray]', here and on nodes"
        )
    return RayExecutor(settings, attempts=attempts, registry=registry)


def _where(settings: RaySettings) -> str:
    return f"the Ray cluster at {settings.address}" if settings.address else "Ray on this machine"


def _unreachable(settings: RaySettings, how: str) -> CircuitOpen:
    return CircuitOpen(
        f"{_where(settings)} was lost and could not be reached again: {how}",
        hint="bring it up and run the same command: what is done is kept",
    )


async def _undone(opening: asyncio.Task[Member]) -> None:
    await asyncio.wait([opening])
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().end()
