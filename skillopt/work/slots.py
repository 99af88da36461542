"""How much may run at once: cores and memory, given out in the order of asking.

Nobody is overtaken, so nobody starves; a unit that needs more than there is runs alone.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from skillopt.work.unit import Needs

_MEMORY_SHARE = 0.8
_UNKNOWN_MEMORY_MB = 4096


class Slots:
    """What is free. Used on one event loop, changed between awaits: there is no lock."""

    def __init__(self, *, cpu: float, memory_mb: float) -> None:
        self._cpu = self._free_cpu = cpu
        self._memory = self._free_memory = memory_mb
        self._waiting: deque[tuple[asyncio.Future[None], float, float]] = deque()

    @asynccontextmanager
    async def hold(self, needs: Needs) -> AsyncGenerator[None]:
        """Wait for room and occupy it."""
        cpu, memory = min(needs.cpu, self._cpu), min(needs.memory_mb, self._memory)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, cpu, memory))
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._hand_out()  # those behind may fit now
            else:
                self._give_back(cpu, memory)
            raise
        try:
            yield
        finally:
            self._give_back(cpu, memory)

    def _give_back(self, cpu: float, memory: float) -> None:
        self._free_cpu += cpu
        self._free_memory += memory
        self._hand_out()

    def _hand_out(self) -> None:
        slack = 1e-9  # sums of shares of a core
        while self._waiting:
            turn, cpu, memory = self._waiting[0]
            if not turn.done():
                if cpu > self._free_cpu + slack or memory > self._free_memory + slack:
                    return
                self._free_cpu -= cpu
                self._free_memory -= memory
                turn.set_result(None)
            self._waiting.popleft()


def cores() -> int:
    """Cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def memory_mb() -> float:
    """The share of this machine's memory that work may take."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    except (AttributeError, ValueError, OSError):
        total = _UNKNOWN_MEMORY_MB
    return total * _MEMORY_SHARE
