"""How many calls an endpoint has at a time, and how fast they may start. One limiter per endpoint, shared by all roles.

The width starts at the configured number, which is also its ceiling unless a larger one is given. A refusal (429,
overload) halves it, at most once per round trip: refusals of calls that were sent before the last cut do not count. It
grows by one place per success up to the width that proved too much lately, and slowly beyond. `Retry-After` pauses
the endpoint, unless it stands alone among many answers or a call that was sent *after* the refused one succeeds: then
the refusal was not for the whole account (the refused call itself still waits). Places are granted by priority, then in
order.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

WINDOW_S = 60.0
_MEMORY = 1 / 16
"""Weight of the newest answer in the share of refusals."""
_LONE_SHARE = 0.2
_MANY = 16
"""A refusal stands alone while at most this share of the last answers, of at least so many, were refusals."""


class RateWindow:
    """At most `limit` units within any 60 seconds (a sliding window, so no server's fixed window is passed either)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._spent: deque[list[float]] = deque()
        self._total = 0.0

    def delay(self, now: float, units: float) -> float:
        """Seconds until `units` more fit. A request larger than the limit fits when nothing else is in the window."""
        while self._spent and self._spent[0][0] <= now - WINDOW_S:
            self._total -= self._spent.popleft()[1]
        excess = self._total + min(units, self.limit) - self.limit
        for when, spent in self._spent:
            if excess <= 0:
                break
            excess -= spent
            if excess <= 0:
                return max(0.0, when + WINDOW_S - now)
        return 0.0

    def spend(self, now: float, units: float) -> list[float]:
        """Enter `units`; the entry can be corrected with `correct`."""
        entry = [now, units]
        self._spent.append(entry)
        self._total += units
        return entry

    def correct(self, entry: list[float], units: float) -> None:
        """Replace an entry's estimate by what was used."""
        if self._spent and entry[0] >= self._spent[0][0]:
            self._total += units - entry[1]
            entry[1] = units


def _stricter(window: RateWindow | None, limit: int | None) -> RateWindow | None:
    if not limit:
        return window
    if window is None:
        return RateWindow(limit)
    window.limit = min(window.limit, limit)
    return window


@dataclass(order=True)
class _Waiter:
    priority: int
    new: bool
    order: int
    tokens: int = field(compare=False)
    ready: asyncio.Future[Slot] = field(compare=False)


@dataclass
class Slot:
    """One call's place at the endpoint. Tell it how the call ended before the place is given back."""

    sent_at: float
    order: int
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
        self.ceiling = float(max(width, ceiling or width))
        self.width = float(width)
        self.busy = 0
        self.requests = _stricter(None, requests_per_minute)
        self.tokens = _stricter(None, tokens_per_minute)
        self._clock = clock
        self._waiting: list[_Waiter] = []
        self._order = itertools.count()
        self._sent = itertools.count()
        self._cut_order = -1
        self._fast_until = self.ceiling
        self._refused_share = 0.0
        self._answered = 0
        self._paused_until = 0.0
        self._pause_order = -1
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Calls without a place yet."""
        return sum(not w.ready.done() for w in self._waiting)

    @property
    def paused_for(self) -> float:
        """Seconds until new calls may start, 0 when they may now."""
        return max(0.0, self._paused_until - self._clock())

    def widen(self, width: int, ceiling: int | None = None) -> None:
        """Another role asks for a width at the same endpoint: the larger one is in force."""
        ceiling = max(width, ceiling or width)
        if ceiling > self.ceiling:
            self.ceiling = self._fast_until = float(ceiling)
        self.width = max(self.width, float(width))

    def restrict(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        """Another role names rate limits for the same endpoint: the stricter ones are in force."""
        self.requests = _stricter(self.requests, requests_per_minute)
        self.tokens = _stricter(self.tokens, tokens_per_minute)

    @asynccontextmanager
    async def place(self, *, priority: int = 0, tokens: int = 0, again: bool = False) -> AsyncGenerator[Slot]:
        """Wait for a place and hold it. `tokens` is the expected number, for the tokens-per-minute limit; a call that
        was sent before (`again`) goes before new ones of its priority."""
        place = await self._acquire(priority, tokens, again)
        try:
            yield place
        finally:
            self._give_back()

    async def _acquire(self, priority: int, tokens: int, again: bool) -> Slot:
        ready: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, _Waiter(priority, not again, next(self._order), tokens, ready))
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
            raise

    def _give_back(self) -> None:
        self.busy -= 1
        self._grant()

    def _grant(self) -> None:
        """Hand out places while there are some. Invariant: whoever waits has a place, a timer or a busy call ahead."""
        while self._waiting and self.busy < math.floor(self.width):
            head = self._waiting[0]
            if head.ready.done():
                heapq.heappop(self._waiting)
                continue
            now = self._clock()
            delay = self._delay(now, head.tokens)
            if delay > 0:
                self._wake_in(delay)
                return
            heapq.heappop(self._waiting)
            self.busy += 1
            if self.requests is not None:
                self.requests.spend(now, 1)
            entry = self.tokens.spend(now, head.tokens) if self.tokens is not None else None
            head.ready.set_result(Slot(now, next(self._sent), self, entry))

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
        self._answered += 1
        self._refused_share -= _MEMORY * self._refused_share
        if place.order > self._pause_order and self._paused_until > 0:
            self._paused_until = 0.0
        step = 1.0 if self.width < self._fast_until else 1.0 / self.width
        self.width = min(self.ceiling, self.width + step)
        self._fast_until = min(self.ceiling, max(self._fast_until, self.width))

    def on_overload(self, place: Slot, retry_after: float | None) -> None:
        """A call that held `place` was refused."""
        self._refused_share += _MEMORY * (1.0 - self._refused_share)
        lone = self._answered >= _MANY and self._refused_share <= _LONE_SHARE
        if retry_after is not None and retry_after > 0 and not lone:
            self._paused_until = max(self._paused_until, self._clock() + retry_after)
            self._pause_order = max(self._pause_order, place.order)
        if place.order <= self._cut_order:
            return
        self._cut_order = next(self._sent)
        # A lone refusal among many answers is a hiccup: the old width is soon back. Many refusals mean too much load.
        if not lone:
            self._fast_until = max(1.0, self.width * (1.0 - self._refused_share))
        self.width = max(1.0, self.width / 2)
