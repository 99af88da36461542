"""A call's way to one of several endpoints: `Passage` for a pool.

Each attempt chooses an endpoint, takes a place there, and reports to its breaker; the next attempt goes elsewhere where
there is an elsewhere. Nobody waits for an endpoint that is down while another one is up. What is wrong with one
endpoint only (its key, its credit, its address) closes that one; what is wrong with the request is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from skillopt.core.aio import stop
from skillopt.core.errors import CircuitOpen, DeadlineExceeded, FatalModelError, TransientModelError
from skillopt.model.traffic.lanes import Lane, Lanes
from skillopt.model.traffic.passage import Down, Passage
from skillopt.model.traffic.retry import Deadline

T = TypeVar("T")

_OWN_FAULT = ("key", "forbidden", "credit", "model", "address", "moved", "certificate")


class Straight:
    """The way to the one endpoint that there is."""

    def __init__(self, lane: Lane, *, request: str = "", priority: int = 0, tokens: int = 0) -> None:
        self.lane = lane
        self._passage = Passage(lane.limiter, lane.breaker, request=request, priority=priority, tokens=tokens)

    async def persist(self, tries: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """As `Passage.persist`."""
        return await self._passage.persist(tries, deadline)

    async def attempt(self, send: Callable[[Lane], Awaitable[T]], *, used: Callable[[T], int | None]) -> T:
        """As `Passage.attempt`."""
        return await self._passage.attempt(lambda: send(self.lane), used=used)


class Route:
    """See the module. `prefix` stands for the beginning of the prompt; `request` and `tokens` as in `Passage`."""

    def __init__(self, lanes: Lanes, prefix: str, *, request: str = "", priority: int = 0, tokens: int = 0) -> None:
        self._lanes, self._prefix = lanes, prefix
        self._request, self._priority, self._tokens = request, priority, tokens
        self._passages: dict[Lane, Passage] = {}
        self._failed: set[Lane] = set()
        self.lane = lanes.choose(prefix, ()) or lanes.open[0]
        """Where the last attempt went."""

    async def persist(self, tries: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """As `Passage.persist`; an endpoint that is given up is closed while another one is left."""
        try:
            while True:
                self._failed.clear()
                for passage in self._passages.values():
                    passage.begin()
                try:
                    return await tries()
                except (CircuitOpen, FatalModelError) as error:
                    if not self._closes(error):
                        raise
                except (TransientModelError, DeadlineExceeded) as error:
                    if not self._passage(self.lane).forgiven(error):
                        self._lost(error)
                        raise
                deadline.restart()
        finally:
            for passage in self._passages.values():
                passage.leave()

    def _closes(self, error: CircuitOpen | FatalModelError) -> bool:
        """Whether the fault is this endpoint's alone, and another one is left."""
        if isinstance(error, FatalModelError) and error.cause not in _OWN_FAULT:
            return False
        return bool(self.lane.closed) or self._lanes.close(self.lane, error.message)

    def _lost(self, error: TransientModelError | DeadlineExceeded) -> None:
        try:
            self._passage(self.lane).lost(error)
        except CircuitOpen as opened:
            if not self._closes(opened):
                raise

    async def attempt(self, send: Callable[[Lane], Awaitable[T]], *, used: Callable[[T], int | None]) -> T:
        """Choose, wait for a place, send, and tell limiter and breaker."""
        shut: set[Lane] = set()
        while True:
            lane = self._lanes.choose(self._prefix, self._failed, shut)
            if lane is None:
                await self._waits()
                shut.clear()
                continue
            self.lane = lane
            try:
                reply = await self._passage(lane).attempt(lambda to=lane: send(to), used=used)
            except Down:
                shut.add(lane)
                continue
            except (TransientModelError, DeadlineExceeded) as error:
                self._failed.add(lane)
                if not (isinstance(error, TransientModelError) and error.overloaded):  # the limiter's business
                    lane.rest()
                raise
            lane.well()
            return reply

    async def _waits(self) -> None:
        """None takes the call now: until one of them may."""
        for lane in self._lanes.open:
            self.lane = lane
            lane.breaker.check()
        waits = [asyncio.ensure_future(lane.breaker.changed()) for lane in self._lanes.open]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(waits)

    def _passage(self, lane: Lane) -> Passage:
        found = self._passages.get(lane)
        if found is None:
            found = Passage(
                lane.limiter,
                lane.breaker,
                request=self._request,
                priority=self._priority,
                tokens=self._tokens,
                moves=True,
            )
            found.begin()
            self._passages[lane] = found
        return found
