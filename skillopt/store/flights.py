"""Thunks that are running: one for a key, shared by all who ask for it, ended with the last of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from skillopt.store.entry import Entry


@dataclass(eq=False)
class Flight:
    """A thunk that is running, and how many callers wait for it."""

    task: asyncio.Task[Entry]
    waiters: int = 0
    closing: bool = False

    async def join(self) -> Entry:
        """Wait for the result. Who is cancelled leaves; with the last one the run is cancelled, and waited for."""
        self.waiters += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self.waiters -= 1
            if not self.waiters and not self.task.done():
                await self.end()

    async def end(self) -> None:
        """Cancel the run and wait until it has really stopped, even when the waiter is cancelled again meanwhile.

        Called on the way out of a cancellation, which the caller then lets through.
        """
        self.closing = True
        self.task.cancel()
        while not self.task.done():
            try:
                await asyncio.wait({self.task})
            except asyncio.CancelledError:
                continue
        if not self.task.cancelled():
            self.task.exception()  # retrieved, so that asyncio does not report it as lost


class Flights:
    """All that are running, by key."""

    def __init__(self) -> None:
        self._running: dict[str, Flight] = {}

    def find(self, key: str) -> Flight | None:
        """The one of `key`. One that failed in this very turn of the loop is none: the next caller runs again."""
        flight = self._running.get(key)
        return None if flight is None or flight.task.done() else flight

    def start(self, key: str, run: Coroutine[object, object, Entry]) -> Flight:
        """Begin one."""
        flight = Flight(asyncio.ensure_future(run))
        self._running[key] = flight
        flight.task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    async def end(self) -> None:
        """Cancel and await them all."""
        for flight in list(self._running.values()):
            await flight.end()

    def _land(self, key: str, flight: Flight) -> None:
        if self._running.get(key) is flight:
            del self._running[key]
