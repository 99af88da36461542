"""Workers that are stopped (SIGSTOP, a frozen container) and never answer: ended, so that their units go on.

Told by the process's state where the system shows it (Linux). A worker that is merely busy is not touched: its unit's
deadline is for that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager

from skillopt.core.aio import stop
from skillopt.work.member import Member


class FrozenWatch:
    """Looks at the workers that have something to do; ends one that has been stopped for `lost_after_s`."""

    def __init__(self, lost_after_s: float) -> None:
        self._lost_after_s = lost_after_s
        self._busy: dict[Member, int] = {}
        self._since: dict[Member, float] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def watched(self, member: Member) -> Generator[None]:
        """While this lasts, the worker is expected to work."""
        self._busy[member] = self._busy.get(member, 0) + 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            self._busy[member] -= 1
            if not self._busy[member]:
                del self._busy[member]
                self._since.pop(member, None)

    async def aclose(self) -> None:
        """Stop looking."""
        if self._task is not None:
            await stop([self._task])
            self._task = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(self._lost_after_s / 4, 15.0))
            now = time.monotonic()
            for member in list(self._busy):
                if not _stopped(member.pid):
                    self._since.pop(member, None)
                elif now - self._since.setdefault(member, now) >= self._lost_after_s:
                    await member.end()


def _stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return False
