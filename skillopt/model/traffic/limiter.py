"""Which calls an endpoint gets, when. One limiter per endpoint, shared by all roles.

Places are granted by priority, then in order, up to the width (see `width`) and within the rates (see `rates`). The
call that tries a higher width is the least urgent one that waits. A refused call waits for the `Retry-After` it was
told on its own; new calls wait with it when most that were sent after a cut were refused as well, until the pause is
over or a call that was sent *after* the refused one succeeds.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from skillopt.model.traffic.rates import stricter
from skillopt.model.traffic.width import Width

GRACE_S = 0.1
"""How long a cancelled call is still counted where the endpoint is known to refuse what is too much."""


@dataclass(order=True)
class _Waiter:
    priority: int
    new: bool
    order: int
    tokens: int = field(compare=False)
    ready: asyncio.Future[Slot] = field(compare=False)


@dataclass
class Slot:
    """One call's place at the endpoint. Tell it how the call ended before the place is given back. `level` is how many
    places were held when it was granted, this one included."""

    order: int
    level: int
    limiter: Limiter
    token_entry: list[float] | None = None

    def succeeded(self, tokens: int | None = None) -> None:
        """A healthy answer; `tokens` is what it used, if known."""
        if tokens is not None and self.token_entry is not None and self.limiter.tokens is not None:
            self.limiter.tokens.correct(self.token_entry, tokens)
        self.limiter.on_success(self)

    def overloaded(self, retry_after: float | None) -> None:
        """A 429 or an overload; `retry_after` seconds is the server's wish."""
        self.limiter.on_overload(self, retry_after)


class Limiter:
    """See the module. `clock` is monotonic seconds and must be the running loop's clock."""

    def __init__(
        self,
        width: int,
        *,
        ceiling: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if width < 1:
            raise ValueError(f"a limiter's width is at least 1, got {width}")
        self.control = Width(width, ceiling or width)
        self.busy = 0
        self.requests = stricter(None, requests_per_minute)
        self.tokens = stricter(None, tokens_per_minute)
        self._clock = clock
        self._waiting: list[_Waiter] = []
        self._unserved = 0
        """Counted, because a pool of endpoints asks each of them before every call."""
        self._order = itertools.count()
        self._sent = 0
        self._paused_until = 0.0
        self._pause_order = -1
        self._timer: asyncio.TimerHandle | None = None

    @property
    def width(self) -> int:
        """Calls that may be in flight now."""
        return self.control.value

    @property
    def waiting(self) -> int:
        """Calls without a place yet."""
        return self._unserved

    @property
    def paused_for(self) -> float:
        """Seconds until new calls may start, 0 when they may now."""
        return max(0.0, self._paused_until - self._clock())

    def widen(self, width: int, ceiling: int | None = None) -> None:
        """Another role asks for a width at the same endpoint: the larger one is in force."""
        self.control.widen(width, ceiling or width)

    def resize(self, width: int) -> None:
        """Another width from now on, wider or narrower; what was learned of the endpoint is forgotten. Calls in flight
        beyond a narrower one end as they would."""
        self.control = Width(width, width)
        self._grant()

    def restrict(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """Another role names rate limits for the same endpoint: the stricter ones are in force."""
        self.requests = stricter(self.requests, requests_per_minute)
        self.tokens = stricter(self.tokens, tokens_per_minute)

    @asynccontextmanager
    async def place(self, *, priority: int = 0, tokens: int = 0, again: bool = False) -> AsyncGenerator[Slot]:
        """Wait for a place and hold it. `tokens` is the expected number, for the tokens-per-minute limit; a call that
        was sent before (`again`) goes before new ones of its priority."""
        place = await self._acquire(priority, tokens, again)
        try:
            yield place
        except asyncio.CancelledError:
            if self.control.limited:
                self._keep_for_a_moment()
            raise
        finally:
            self._give_back()

    def _keep_for_a_moment(self) -> None:
        """An endpoint that counts calls has not heard yet that this one was given up: its place stays taken."""
        self.busy += 1
        asyncio.get_running_loop().call_later(GRACE_S, self._give_back)

    async def _acquire(self, priority: int, tokens: int, again: bool) -> Slot:
        ready: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, _Waiter(priority, not again, next(self._order), tokens, ready))
        self._unserved += 1
        self._grant()
        if ready.done():
            return ready.result()
        try:
            return await ready
        except asyncio.CancelledError:
            if ready.done() and not ready.cancelled():
                # The place was granted in the same turn of the loop in which the caller was cancelled.
                self._give_back()
            else:
                ready.cancel()
                self._unserved -= 1
            raise

    def _give_back(self) -> None:
        self.busy -= 1
        self._grant()

    def _grant(self) -> None:
        """Hand out places while there are some. Invariant: whoever waits has a place, a timer or a busy call ahead."""
        while self._waiting and self.busy < self.control.value:
            if self._waiting[0].ready.done():
                heapq.heappop(self._waiting)
                continue
            now = self._clock()
            delay = self._delay(now, self._waiting[0].tokens)
            if delay > 0:
                self._wake_in(delay)
                return
            waiter = self._next()
            self.busy += 1
            self._sent += 1
            if self.requests is not None:
                self.requests.spend(now, 1)
            entry = self.tokens.spend(now, waiter.tokens) if self.tokens is not None else None
            self._unserved -= 1
            waiter.ready.set_result(Slot(self._sent, self.busy, self, entry))

    def _next(self) -> _Waiter:
        """Whose turn it is: the most urgent call, or the least urgent one to try more than the proven width."""
        if self.busy < self.control.proven or self.tokens is not None:
            return heapq.heappop(self._waiting)
        waiter = max(w for w in self._waiting if not w.ready.done())
        self._waiting.remove(waiter)
        heapq.heapify(self._waiting)
        return waiter

    def _delay(self, now: float, tokens: int) -> float:
        delay = max(0.0, self._paused_until - now)
        if self.requests is not None:
            delay = max(delay, self.requests.delay(now, 1))
        if self.tokens is not None:
            delay = max(delay, self.tokens.delay(now, tokens))
        return delay

    def _wake_in(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()

        def wake() -> None:
            self._timer = None
            self._grant()

        # One millisecond more: a timer may fire a clock tick early and would then wait again.
        self._timer = asyncio.get_running_loop().call_later(delay + 0.001, wake)

    def on_success(self, place: Slot) -> None:
        """A call that held `place` was answered."""
        if place.order > self._pause_order and self._paused_until > 0:
            self._paused_until = 0.0
        self.control.answered(place.level, place.order, self._clock())

    def on_overload(self, place: Slot, retry_after: float | None) -> None:
        """A call that held `place` was refused."""
        now = self._clock()
        pauses = self.control.refused(
            place.level, place.order, busy=self.busy, newest=self._sent, now=now, retry_after=retry_after
        )
        if pauses and retry_after:
            self._paused_until = max(self._paused_until, now + retry_after)
            self._pause_order = max(self._pause_order, place.order)

    def recovered(self) -> None:
        """The endpoint was down, not overloaded: the width is what it was before, and nobody waits any more."""
        self.control.restore()
        self._paused_until = 0.0
        self._grant()
