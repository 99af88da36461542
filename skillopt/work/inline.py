"""Work in this very process, across the same JSON boundary: for tests, debuggers and systems without processes.

A plain function runs on the event loop and holds it up, and its deadline cannot be enforced; that is what the worker
processes of `work.local` are for.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import cast

from skillopt.core.json_types import JsonObject
from skillopt.work.blobs import Blobs
from skillopt.work.errors import WorkFailed
from skillopt.work.frames import copied
from skillopt.work.handling import Stepper, Unit, checked_answer, failure_of, handler_of, raised
from skillopt.work.registry import Registry
from skillopt.work.unit import Work


class InlineExecutor:
    """An `Executor` without workers."""

    name = "inline"
    apart = False

    def __init__(self, registry: Registry | None = None) -> None:
        self._registry = registry or Registry()
        self._blobs: Blobs | None = None

    async def run(self, work: Work) -> JsonObject:
        """See `Executor.run`."""
        target = self._registry.find(work.name).target
        payload = copied(work.payload)
        answer = await _settled(lambda: handler_of(target)(payload, self._unit(work)), work.deadline_s)
        return _received(target, answer)

    @asynccontextmanager
    async def session(self, work: Work) -> AsyncGenerator[HeldSession]:
        """See `Executor.session`."""
        target = self._registry.find(work.name).target
        payload = copied(work.payload)
        seconds = work.open_s or work.deadline_s
        opened = await _settled(lambda: handler_of(target)(payload, self._unit(work)), seconds)
        session = HeldSession(target, cast("Stepper", opened), work.deadline_s)
        try:
            yield session
        finally:
            await session.close()

    async def put(self, data: bytes) -> str:
        """See `Executor.put`."""
        return self._store().put(data)

    async def aclose(self) -> None:
        """Remove the blobs; nothing else is left of finished calls."""
        if self._blobs is not None:
            shutil.rmtree(self._blobs.folder, ignore_errors=True)
            self._blobs = None

    def _store(self) -> Blobs:
        if self._blobs is None:
            self._blobs = Blobs.temporary()
        return self._blobs

    def _unit(self, work: Work) -> Unit:
        blobs = self._store() if work.files else Blobs("")
        return Unit(blobs, work.files, work.version)


class HeldSession:
    """A session whose state is an object of this process; `who` names it in errors."""

    def __init__(self, who: str, opened: Stepper, deadline_s: float) -> None:
        self._who, self._opened, self._deadline_s = who, opened, deadline_s

    async def step(self, payload: JsonObject) -> JsonObject:
        """See `Session.step`."""
        sent = copied(payload)
        return _received(self._who, await _settled(lambda: self._opened.step(sent), self._deadline_s))

    async def close(self) -> None:
        """Let it clean up, where it has something to."""
        close: object = getattr(self._opened, "close", None)
        if callable(close):
            await _settled(close, self._deadline_s)


async def _settled(call: object, deadline_s: float) -> object:
    """The value of a call, awaited if need be; what it raises crosses the boundary as data."""
    assert callable(call)
    try:
        value: object = call()
        if hasattr(value, "__await__"):
            value = await asyncio.wait_for(_contained(cast("Awaitable[object]", value)), deadline_s)
        return value
    except (asyncio.CancelledError, KeyboardInterrupt, WorkFailed):
        raise
    except asyncio.TimeoutError:
        raise WorkFailed(f"took longer than {deadline_s:g} s", kind="deadline") from None
    except BaseException as error:  # work may raise anything, sys.exit() too
        raise raised(failure_of(error)) from error


async def _contained(value: Awaitable[object]) -> object:
    """Await it as a task may: a `SystemExit` that leaves a task ends the event loop, and this one is the run's own."""
    try:
        return await value
    except SystemExit as error:
        raise raised(failure_of(error)) from error


def _received(target: str, answer: object) -> JsonObject:
    try:
        return copied(checked_answer(target, answer))
    except (TypeError, ValueError) as error:
        raise raised(failure_of(error)) from error
