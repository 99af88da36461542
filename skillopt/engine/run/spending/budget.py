"""Caps on calls, tokens, money and wall time over all roles together, reserved before each call (invariant I6).

A reservation is the most the call can use. While other calls are under way, one that does not fit waits for them to
settle below their reservations; when nothing is under way and it still does not fit, the budget is reached. Part of the
budget, time included, can be set aside for the end (last look, sealed test), so that a run which its budget stops still
ends with its report.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from skillopt.core.errors import BudgetExceeded, ConfigError
from skillopt.model.types import Usage
from skillopt.records.events import BudgetUpdated, BudgetWarning, Emit, silent

WARN_AT = (0.5, 0.8)
TELL_EVERY_S = 5.0
"""The least time between two `budget.updated` events of running calls."""


@dataclass
class Spend:
    """Amounts of the three countable kinds, and of time where it is set aside."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0
    hours: float = 0

    def plus(self, other: Spend, sign: int = 1) -> Spend:
        """Sum (or difference) of two amounts."""
        return Spend(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            self.usd + sign * other.usd,
            self.hours + sign * other.hours,
        )

    def times(self, factor: float) -> Spend:
        """So many of it."""
        return Spend(factor * self.calls, factor * self.tokens, factor * self.usd, factor * self.hours)


@dataclass(frozen=True)
class Limits:
    """Caps; None means no cap."""

    usd: float | None = None
    tokens: float | None = None
    calls: float | None = None
    hours: float | None = None

    @property
    def any_spend(self) -> bool:
        """True when calls, tokens or money are capped; speculation would then use up what decisions need."""
        return not (self.usd is None and self.tokens is None and self.calls is None)


@dataclass
class Ticket:
    """A reservation that has not been settled yet. `begun`: its work spends without saying how much before its end."""

    amount: Spend
    open: bool = True
    begun: bool = False


def _forget(spent: Spend, unknown: bool) -> None:
    del spent, unknown


@dataclass
class Budget:
    """Owned by one run. `used` starts with what earlier processes of the run have spent: what they
    remembered, or the journal's ledger, which holds no unknown usage and no failed run, where that is more."""

    limits: Limits = field(default_factory=Limits)
    used: Spend = field(default_factory=Spend)
    earlier_s: float = 0.0
    emit: Emit = silent
    check: Callable[[], None] | None = None
    """Asked before each call; raises `StopRun` where the run is to end."""
    gate: Callable[[], Awaitable[None]] | None = None
    """Passed before each call: it waits while the run is paused."""
    idle_s: float = 0.0
    """Seconds of pauses, which no cap on hours counts."""
    reserved: Spend = field(default_factory=Spend)
    held: Spend = field(default_factory=Spend)
    held_for: str = "the end of the run"
    """What that part is for, in words."""
    grace_h: float = 0.0
    """What the end of a run may take beyond the cap in hours, where it takes longer than was kept for it."""
    _started: float = field(default_factory=time.monotonic)
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque[asyncio.Future[None]])
    usd_unknown: bool = False
    """True once a call's price or usage was not known: what was spent is then at least what `used` says."""
    remember: Callable[[Spend, bool], None] = _forget
    """Told what is spent (and whether money is unknown) whenever that changes: a later process goes on from there."""
    begun: Spend = field(default_factory=Spend)
    """Of what is reserved, what was spent by starting: programs that a kill would end without a word."""
    _growing: int = 0
    """Work under way that waits to be reserved more: nobody need wait for it to settle."""
    _told_at: float = -math.inf
    _warned: set[tuple[str, float]] = field(default_factory=set[tuple[str, float]])

    @property
    def wall_s(self) -> float:
        """Seconds of wall time over all processes of the run, without pauses."""
        return self.earlier_s + time.monotonic() - self._started - self.idle_s

    async def reserve(
        self, *, role: str, model: str, prompt_tokens: int, completion_tokens: int, usd: float | None
    ) -> Ticket:
        """Set the call's maximum aside. Raises `BudgetExceeded` when it cannot fit, `ConfigError` when money is capped
        and the model's price is unknown."""
        if self.limits.usd is not None and usd is None:
            raise ConfigError(
                f"budget.max_usd is set, but the price of {role} model {model!r} is unknown",
                hint="give its price in a file named by model.prices, or cap budget.max_tokens instead",
            )
        amount = Spend(1, prompt_tokens + completion_tokens, usd or 0.0)
        await self._make_room(amount, role, f"{role} {model}", alone=0)
        self.reserved = self.reserved.plus(amount)
        return Ticket(amount)

    async def extend(self, ticket: Ticket, *, what: str, tokens: int, usd: float | None) -> None:
        """Reserve more for work that is under way. It waits for other work to settle while there is any that does not
        itself wait for more; raises `BudgetExceeded` when it cannot fit."""
        amount = Spend(0, tokens, usd or 0.0)
        self._growing += 1
        try:
            await self._make_room(amount, what, what, alone=1)
        finally:
            self._growing -= 1
        if not ticket.open:
            return
        ticket.amount = ticket.amount.plus(amount)
        self.reserved = self.reserved.plus(amount)
        if ticket.begun:
            self.begun = self.begun.plus(amount)
            self._remember()

    async def _make_room(self, amount: Spend, role: str, what: str, *, alone: int) -> None:
        """Wait until an amount fits. `alone` is what of the reserved calls is the caller's own."""
        while True:
            if self.gate is not None:
                await self.gate()
            self.heed()
            self._check_time(role)
            breach = self._breach(amount)
            if breach is None:
                return
            if self.reserved.calls <= max(alone, self._growing):
                kept = f"; {breach[3]:g} kept for {self.held_for}" if breach[3] else ""
                raise BudgetExceeded(breach[0], breach[1], breach[2], f"next call: {what}{kept}")
            await self._settled()

    def may_wait(self, role: str) -> None:
        """Asked while somebody waits for hours: raises `StopRun` where the run is to end, or its time is over."""
        self.heed()
        self._check_time(role)

    def heed(self) -> None:
        """Raises `StopRun` where the run is to end."""
        if self.check is not None:
            self.check()

    def _check_time(self, role: str) -> None:
        hours = self.limits.hours
        if hours is not None and self.wall_s >= (hours - self.held.hours + self.grace_h) * 3600:
            kept = f"; {60 * self.held.hours:.1g} min kept for {self.held_for}" if self.held.hours else ""
            raise BudgetExceeded("hours", self.wall_s / 3600, hours, f"next call: {role}{kept}")

    def _breach(self, amount: Spend) -> tuple[str, float, float, float] | None:
        after = self.used.plus(self.reserved).plus(self.held).plus(amount)
        for kind, value, limit, held in (
            ("calls", after.calls, self.limits.calls, self.held.calls),
            ("tokens", after.tokens, self.limits.tokens, self.held.tokens),
            ("usd", after.usd, self.limits.usd, self.held.usd),
        ):
            if limit is not None and value > limit + 1e-9:
                return kind, value, limit, held
        return None

    async def _settled(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def settle(self, ticket: Ticket, *, usage: Usage, usd: float | None) -> None:
        """Replace the reservation by what was used; unknown usage counts as the whole reservation."""
        known = usage.prompt_tokens is not None and usage.completion_tokens is not None
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if known else ticket.amount.tokens
        self.used = self.used.plus(Spend(1, tokens, ticket.amount.usd if usd is None else usd))
        self.usd_unknown = self.usd_unknown or usd is None
        self.release(ticket)
        if not ticket.begun:
            self._remember()
        self._warn()
        if time.monotonic() - self._told_at >= TELL_EVERY_S:
            self.tell()

    def tell(self) -> None:
        """Tell observers what the run has spent so far."""
        self._told_at = time.monotonic()
        limits, used = self.limits, self.used
        usd = None if self.usd_unknown else round(used.usd, 6)
        self.emit(
            BudgetUpdated(
                calls=round(used.calls), tokens=round(used.tokens), usd=usd,
                hours=round(self.wall_s / 3600, 4), max_calls=limits.calls, max_tokens=limits.tokens,
                max_usd=limits.usd, max_hours=limits.hours,
            )
        )  # fmt: skip

    def begin(self, ticket: Ticket) -> None:
        """The work has begun and says what it spent at its end only: until then its whole reservation counts as spent
        for whoever goes on after a kill."""
        if ticket.open and not ticket.begun:
            ticket.begun = True
            self.begun = self.begun.plus(ticket.amount)
            self._remember()

    def _remember(self) -> None:
        self.remember(self.used.plus(self.begun), self.usd_unknown)

    def release(self, ticket: Ticket) -> None:
        """Give a reservation back. Idempotent."""
        if ticket.open:
            ticket.open = False
            self.reserved = self.reserved.plus(ticket.amount, -1)
            if ticket.begun:
                self.begun = self.begun.plus(ticket.amount, -1)
                self._remember()
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def cap(self, limits: Limits) -> None:
        """Other caps from now on: whoever waits for room asks again."""
        self.limits = limits
        self._warned = {(kind, share) for kind, share in self._warned if getattr(limits, kind) is None}
        self._wake()

    def set_aside(self, amount: Spend, what: str = "the end of the run") -> None:
        """Keep an amount for `what`; `set_aside(Spend())` frees it."""
        self.held, self.held_for = amount, what

    @contextmanager
    def keeping(self, amount: Spend, what: str) -> Generator[None]:
        """Keep an amount more out of reach for a while, and say that all of it is kept for `what`."""
        before = self.held_for
        self.held, self.held_for = self.held.plus(amount), what
        try:
            yield
        finally:
            self.held, self.held_for = self.held.plus(amount, -1), before

    def _warn(self) -> None:
        for kind, value, limit in (
            ("calls", self.used.calls, self.limits.calls),
            ("tokens", self.used.tokens, self.limits.tokens),
            ("usd", self.used.usd, self.limits.usd),
        ):
            for share in WARN_AT:
                if limit and value >= share * limit and (kind, share) not in self._warned:
                    self._warned.add((kind, share))
                    self.emit(BudgetWarning(kind=kind, used=value, limit=limit, share=share))
