"""The night's caps on calls, tokens, money and minutes, over all roles: reserved before a call, settled after it.

A call that would pass a cap is not made, and one that is under way at the cap of minutes is given up. What a night
spent before it was interrupted is taken from its journal. A program that reports no tokens is charged the estimate, and
the report says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from skillopt.sleep.errors import Stopped


@dataclass(frozen=True)
class Caps:
    """None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    minutes: float | None = None


@dataclass
class Spent:
    """What was used so far. `estimated` counts calls whose tokens nobody reported."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    minutes: float = 0.0
    estimated: int = 0
    unpriced: int = 0


@dataclass(frozen=True)
class Reservation:
    """What was set aside for one call."""

    tokens: int


class Meter:
    """See the module. `before` is what earlier runs of the same night spent."""

    def __init__(self, caps: Caps, before: Spent, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.caps, self.spent, self._clock = caps, before, clock
        self._began = clock()
        self._earlier = before.minutes
        self._held_calls = self._held_tokens = 0
        self._ratio = 1.0

    def minutes(self) -> float:
        """Minutes of this night, over all its runs."""
        return self._earlier + (self._clock() - self._began) / 60

    def seconds_left(self) -> float | None:
        """Until the cap of minutes; None without one."""
        return None if self.caps.minutes is None else max(0.0, (self.caps.minutes - self.minutes()) * 60)

    def time_is_up(self) -> Stopped:
        """The error that ends a night at its cap of minutes."""
        return Stopped(f"the cap of {self.caps.minutes or 0:g} minutes is reached")

    def reserve(self, tokens: int) -> Reservation:
        """Set aside one call of about so many tokens. Raises `Stopped` where a cap would be passed."""
        wanted = int(tokens * self._ratio)
        caps, spent = self.caps, self.spent
        if caps.calls is not None and spent.calls + self._held_calls + 1 > caps.calls:
            raise Stopped(f"the cap of {caps.calls} calls is reached")
        if caps.tokens is not None and spent.tokens + self._held_tokens + wanted > caps.tokens:
            raise Stopped(f"the next call could pass the cap of {caps.tokens} tokens ({spent.tokens} are used)")
        if caps.minutes is not None and self.minutes() >= caps.minutes:
            raise self.time_is_up()
        if caps.usd is not None and spent.usd >= caps.usd:
            raise Stopped(f"the cap of {caps.usd:g} USD is reached")
        self._held_calls += 1
        self._held_tokens += wanted
        return Reservation(wanted)

    def settle(self, reserved: Reservation, tokens: int | None, usd: float | None, *, estimate: int) -> None:
        """A call ended. None: the program did not say."""
        self.release(reserved)
        self.spent.calls += 1
        self.spent.tokens += reserved.tokens if tokens is None else tokens
        self.spent.usd += usd or 0.0
        self.spent.estimated += tokens is None
        self.spent.unpriced += usd is None
        if tokens is not None and estimate:
            self._ratio = max(self._ratio, tokens / estimate)  # the next estimate is no lower than what was seen

    def release(self, reserved: Reservation) -> None:
        """A call was not made, or cost nothing."""
        self._held_calls -= 1
        self._held_tokens -= reserved.tokens
