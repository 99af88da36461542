"""Worker processes of this machine: the default executor.

Workers start when they are first needed and are used again. A unit whose worker is lost (killed, crashed, frozen) is
repeated in another one, at most `attempts` times; a unit that is cancelled or passes its deadline is ended, programs
included, before the call returns. Many units in a row that lose every worker are no accident: the run is stopped with
the worker's last words.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from skillopt.core.aio import stop, undisturbed
from skillopt.core.errors import CircuitOpen
from skillopt.core.json_types import JsonObject
from skillopt.work.blobs import Blobs
from skillopt.work.errors import WorkerLost, WorkFailed, given_up
from skillopt.work.frozen import FrozenWatch
from skillopt.work.handling import value_of
from skillopt.work.member import Lost, Member, open_member
from skillopt.work.registry import Handler, Registry
from skillopt.work.slots import Slots, cores, memory_mb
from skillopt.work.unit import Work

_PER_SHARED_WORKER = 8
"""What is lost together when such a worker is killed."""
_CANCEL_S = 10.0


class LocalExecutor:
    """An `Executor`. `slots` is the number of cores that work may take (None: those of this machine)."""

    name = "local"
    apart = False

    def __init__(
        self,
        *,
        slots: int | None = None,
        attempts: int = 3,
        lost_after_s: float = 60.0,
        registry: Registry | None = None,
    ) -> None:
        self._registry = registry or Registry()
        self._attempts = attempts
        self._slots = Slots(cpu=slots or cores(), memory_mb=memory_mb())
        self._frozen = FrozenWatch(lost_after_s)
        self._numbers = itertools.count(1)
        self._idle: list[Member] = []
        self._members: set[Member] = set()
        self._starting = asyncio.Lock()
        self._blobs: Blobs | None = None
        self._lost_in_a_row = 0
        """Workers that were lost since the last answer."""
        self._closed = False
        self.repeated = 0
        """Attempts that were lost with their worker."""

    async def run(self, work: Work) -> JsonObject:
        """See `Executor.run`. Raises `CircuitOpen` when workers are lost again and again."""
        handler = self._registry.find(work.name)
        message = self._message("run", handler, work)
        attempts = work.attempts or self._attempts
        async with self._slots.hold(work.needs):
            for attempt in range(1, attempts + 1):
                try:
                    return value_of(await self._attempt(handler, message, work.deadline_s))
                except Lost as error:
                    self.repeated += 1
                    if attempt == attempts or self._closed:
                        raise self._given_up(work.name, attempt, error) from error
        raise AssertionError("at least one attempt is made")

    @asynccontextmanager
    async def session(self, work: Work) -> AsyncGenerator[_Session]:
        """See `Executor.session`. Opening is repeated as a unit is; after that a lost worker is a lost session."""
        handler = Handler(self._registry.find(work.name).target)
        async with self._slots.hold(work.needs):
            number = next(self._numbers)
            message = {**self._message("open", handler, work), "session": number}
            member = await self._opened(message, work)
            session = _Session(self, member, {"target": handler.target, "session": number}, work)
            try:
                yield session
            finally:
                await undisturbed(self._close(member, session))

    async def put(self, data: bytes) -> str:
        """See `Executor.put`."""
        return await asyncio.to_thread(self._store().put, data)

    async def aclose(self) -> None:
        """See `Executor.aclose`."""
        self._closed = True
        await self._frozen.aclose()
        async with self._starting:
            await undisturbed(_all(list(self._members)))
        self._members.clear()
        self._idle.clear()
        if self._blobs is not None:
            await asyncio.to_thread(shutil.rmtree, self._blobs.folder, True)
            self._blobs = None

    async def _attempt(self, handler: Handler, message: JsonObject, deadline_s: float) -> JsonObject:
        """One try in one worker. Raises `Lost`, `WorkFailed` for a passed deadline."""
        member = await self._member(shared=handler.shared)
        answer = await self.asked(member, message, deadline_s)
        self._give_back(member)
        return answer

    async def asked(self, member: Member, message: JsonObject, deadline_s: float) -> JsonObject:
        """Ask a worker within a deadline; whatever ends the wait early ends the unit as well."""
        number = next(self._numbers)
        asking = asyncio.ensure_future(member.ask(number, message))
        try:
            with self._frozen.watched(member):
                await asyncio.wait([asking], timeout=deadline_s)
            if asking.done():
                answer = asking.result()
                self._lost_in_a_row = 0
                return answer
            raise WorkFailed(f"took longer than {deadline_s:g} s", kind="deadline")
        except Lost:
            self._lost_in_a_row += member in self._members
            self._members.discard(member)
            raise
        except BaseException:
            await undisturbed(self._ended(member, number, asking))
            raise

    async def _ended(self, member: Member, number: int, asking: asyncio.Task[JsonObject]) -> None:
        """End one unit: politely where others share its worker, else with the worker."""
        await stop([asking])
        if member.shared and await member.cancel(number, _CANCEL_S):
            return
        await member.end()
        self._members.discard(member)

    async def _member(self, *, shared: bool) -> Member:
        """A worker with room: a living one, else a new one."""
        found = self._with_room(shared=shared)
        if found is not None:
            return found
        async with self._starting:  # one after the other: a burst of units must not start a burst of interpreters
            if self._closed:
                raise Lost("was not started: the executor is closed")
            return self._with_room(shared=shared) or await self._new(shared=shared)

    def _with_room(self, *, shared: bool) -> Member | None:
        if shared:
            open_ones = (m for m in self._members if m.shared and m.alive and m.load < _PER_SHARED_WORKER)
            return next(open_ones, None)
        while self._idle:
            member = self._idle.pop()
            if member.alive:
                return member
            self._members.discard(member)
        return None

    async def _new(self, *, shared: bool) -> Member:
        try:
            starting = asyncio.ensure_future(open_member(shared=shared, blobs=self._store().folder))
            member = await _finished(starting)
        except Lost:
            self._lost_in_a_row += 1
            raise
        except OSError as error:
            self._lost_in_a_row += 1
            raise Lost(f"could not be started: {error.strerror}") from error
        self._members.add(member)
        return member

    def _give_back(self, member: Member) -> None:
        if not member.shared and member.alive and not self._closed:
            self._idle.append(member)

    async def _opened(self, message: JsonObject, work: Work) -> Member:
        attempts = work.attempts or self._attempts
        for attempt in range(1, attempts + 1):
            try:
                member = await self._member(shared=False)
                answer = await self.asked(member, message, work.open_s or work.deadline_s)
            except Lost as error:
                self.repeated += 1
                if attempt == attempts or self._closed:
                    raise self._given_up(work.name, attempt, error) from error
                continue
            if "error" in answer:
                self._give_back(member)
            value_of(answer)
            return member
        raise AssertionError("at least one attempt is made")

    async def _close(self, member: Member, session: _Session) -> None:
        try:
            await session.close()
        finally:
            self._give_back(member)

    def _given_up(self, name: str, attempts: int, error: Lost) -> WorkerLost | CircuitOpen:
        hint = "run the same command with executor.kind=inline to see the cause"
        return given_up(name, attempts, str(error), in_a_row=self._lost_in_a_row, hint=hint)

    def _message(self, verb: str, handler: Handler, work: Work) -> JsonObject:
        return {
            "do": verb,
            "target": handler.target,
            "payload": work.payload,
            "files": work.files,
            "version": work.version,
        }

    def _store(self) -> Blobs:
        if self._blobs is None:
            self._blobs = Blobs.temporary()
        return self._blobs


class _Session:
    """A session held by one worker."""

    def __init__(self, executor: LocalExecutor, member: Member, head: JsonObject, work: Work) -> None:
        self._executor, self._member, self._head = executor, member, head
        self._work = work
        self._usable = True

    async def step(self, payload: JsonObject) -> JsonObject:
        """See `Session.step`."""
        return value_of(await self._asked("step", payload))

    async def close(self) -> None:
        """Let the other side clean up; a worker that is gone has nothing to clean."""
        if self._usable and self._member.alive:
            value_of(await self._asked("close", {}))

    async def _asked(self, verb: str, payload: JsonObject) -> JsonObject:
        if not self._usable:
            raise WorkerLost(f"worker lost: the session of {self._work.name} has ended")
        self._usable = False  # until the answer is here: whatever comes between ends the worker
        message = {**self._head, "do": verb, "payload": payload}
        try:
            answer = await self._executor.asked(self._member, message, self._work.deadline_s)
        except Lost as error:
            raise WorkerLost(f"worker lost: the session of {self._work.name} {error}") from error
        self._usable = True
        return answer


async def _all(members: list[Member]) -> None:
    await asyncio.gather(*(member.end() for member in members))


async def _finished(starting: asyncio.Task[Member]) -> Member:
    """A started worker; a cancellation on the way ends the worker first."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await undisturbed(_undone(starting))
        raise


async def _undone(starting: asyncio.Task[Member]) -> None:
    await asyncio.wait([starting])
    if starting.exception() is None:
        await starting.result().end()
