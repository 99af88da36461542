"""One actor as the pool process sees it: calls, their fence, its heartbeat, its end.

A call whose worker was given up is answered `Gone` at once; what the worker still says of it later is counted and
refused. `Gone` is never an answer of the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Sequence

from skillopt.core.json_types import JsonObject, as_text
from skillopt.core.shorten import shorten
from skillopt.executors.ray.library import Handle, Method, ray
from skillopt.work.unit import Needs

_SHOWN = 200


class Gone(Exception):
    """The worker was lost with this call unanswered; the text says how."""


class Worker:
    """An actor and what is free of it. Used on one event loop."""

    def __init__(self, handle: Handle, cpu: float, memory_mb: float) -> None:
        self.handle = handle
        self.cpu, self.memory_mb = cpu, memory_mb
        self.free_cpu, self.free_memory = cpu, memory_mb
        self.units = 0
        self.said: JsonObject = {}
        self.node = ""
        self.leaving = False
        """Whether it is given nothing more, because it is above the run's share."""
        self.refused = 0
        """Answers that came after the worker had been given up."""
        self.idle_since = time.monotonic()
        self._gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._late: set[asyncio.Future[object]] = set()

    @property
    def alive(self) -> bool:
        """Whether it was not given up."""
        return not self._gone.done()

    @property
    def is_over(self) -> bool:
        """Given up, with nothing that may still answer late."""
        return not self.alive and not self.units and not self._late

    @property
    def who(self) -> str:
        """For people: `worker 1234 on host`."""
        return f"worker {self.said.get('pid', '?')} on {as_text(self.said.get('host')) or 'an unknown node'}"

    def fits(self, needs: Needs) -> bool:
        """Whether a unit has room now; one that needs more than all of it, when nothing else is here."""
        cpu, memory = min(needs.cpu, self.cpu), min(needs.memory_mb, self.memory_mb)
        return self.alive and not self.leaving and cpu <= self.free_cpu + 1e-9 and memory <= self.free_memory + 1e-9

    def take(self, needs: Needs) -> None:
        """Occupy it."""
        self.units += 1
        self.free_cpu -= min(needs.cpu, self.cpu)
        self.free_memory -= min(needs.memory_mb, self.memory_mb)

    def give_back(self, needs: Needs) -> None:
        """The unit has ended."""
        self.units -= 1
        self.free_cpu += min(needs.cpu, self.cpu)
        self.free_memory += min(needs.memory_mb, self.memory_mb)
        self.idle_since = time.monotonic()

    async def call(self, method: Method, *arguments: object) -> object:
        """The answer of a method. Raises `Gone` once the worker is given up, by whomever."""
        if not self.alive:
            raise Gone(self._gone.result())
        asked = asyncio.ensure_future(_awaited(method.remote(*arguments)))
        await asyncio.wait([asked, self._gone], return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            self._late.add(asked)
            asked.add_done_callback(self._came_late)
            raise Gone(self._gone.result())
        error = asked.exception()
        if error is not None:
            self.give_up(_words(error))
            raise Gone(self._gone.result()) from error
        return asked.result()

    async def watch(self, every_s: float, lost_after_s: float) -> None:
        """Until it is given up: one heartbeat after the other while it has something to do."""
        while self.alive:
            await asyncio.sleep(every_s)
            if not self.units:
                continue
            with contextlib.suppress(Gone):
                try:
                    await asyncio.wait_for(self.call(self.handle.beat), lost_after_s)
                except asyncio.TimeoutError:
                    self.give_up(f"gave no sign of life for {lost_after_s:g} s")

    def give_up(self, how: str) -> None:
        """Fence it off: what was asked is lost, what it says later is refused, and Ray is told to kill it."""
        if self._gone.done():
            return
        self._gone.set_result(f"{how} ({self.who})")
        self.kill()

    def kill(self) -> None:
        """Have Ray kill it, once it can."""
        library = ray()
        with contextlib.suppress(library.exceptions.RayError, ValueError, RuntimeError):
            library.kill(self.handle, no_restart=True)

    def _came_late(self, asked: asyncio.Future[object]) -> None:
        self._late.discard(asked)
        if not asked.cancelled() and asked.exception() is None:
            self.refused += 1


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


def _words(error: BaseException) -> str:
    lines: Sequence[str] = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"was lost: {type(error).__name__}: {shorten(' '.join(lines[:3]), _SHOWN)}"
