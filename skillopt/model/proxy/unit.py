"""One unit of work that may ask a model through the proxy: its token, its share of the budget, what it has used.

A unit begins with what was reserved for it. A call that could pass that reserves the rest first, within the run's caps;
a call that does not fit stops the run, which whoever waits for the unit learns from `stopped`.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from skillopt.core.errors import StopRun
from skillopt.core.hashing import digest
from skillopt.model.types import Usage
from skillopt.model.usage import combined


class Purse(Protocol):
    """The budget, where a reservation can grow."""

    async def extend(self, ticket: Any, *, what: str, tokens: int, usd: float | None) -> None:
        """Reserve more on a ticket. Raises `BudgetExceeded`."""
        ...


@dataclass
class ProxiedUnit:
    """`key` is the journal key of the run, `generation` counts its tries that ended by themselves: a repeated try of a
    lost worker finds the answers of the first one, another try asks anew."""

    key: str
    generation: int
    stage: str
    purse: Purse
    ticket: object
    reserved: Usage
    reserved_usd: float | None
    seconds: float
    priority: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    stopped: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    calls: list[tuple[Usage, float | None]] = field(default_factory=list["tuple[Usage, float | None]"])
    """What each call used, those that the journal answered included."""
    paid: list[tuple[Usage, float | None]] = field(default_factory=list["tuple[Usage, float | None]"])
    """What each call used that was made now."""
    _covered_tokens: int = 0
    _covered_usd: float = 0.0
    _taken_tokens: int = 0
    _taken_usd: float = 0.0
    _asked: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self._covered_tokens = (self.reserved.prompt_tokens or 0) + (self.reserved.completion_tokens or 0)
        self._covered_usd = self.reserved_usd or 0.0

    def spent(self, calls: list[tuple[Usage, float | None]]) -> tuple[Usage, float | None]:
        """What calls have used together, in tokens and US dollars; unknown as soon as one call's is."""
        usd = [each for _, each in calls]
        known = None if None in usd else math.fsum(each for each in usd if each is not None)
        return combined(usage for usage, _ in calls) if calls else Usage(0, 0), known

    def call_key(self, path: str, body: bytes) -> str:
        """The journal key of its next call with this body."""
        request = digest({"path": path, "body": hashlib.sha256(body).hexdigest()})
        self._asked[request] += 1
        return digest(
            {"proxied": self.key, "generation": self.generation, "request": request, "time": self._asked[request]}
        )

    async def cover(self, what: str, tokens: int, usd: float | None) -> None:
        """Set aside what the next call may use. Raises `BudgetExceeded`, and says so to whoever waits for the unit."""
        self._taken_tokens += tokens
        self._taken_usd += usd or 0.0
        more = max(0, self._taken_tokens - self._covered_tokens)
        more_usd = max(0.0, self._taken_usd - self._covered_usd)
        if not more and more_usd <= 0.0:
            return
        self._covered_tokens += more
        self._covered_usd += more_usd
        try:
            await self.purse.extend(self.ticket, what=what, tokens=more, usd=None if usd is None else more_usd)
        except BaseException as error:
            self._covered_tokens -= more
            self._covered_usd -= more_usd
            self.uncover(tokens, usd)
            if isinstance(error, StopRun):
                self.stop(error)
            raise

    def uncover(self, tokens: int, usd: float | None) -> None:
        """The call was not made."""
        self._taken_tokens -= tokens
        self._taken_usd -= usd or 0.0

    def used(self, bound: Usage, bound_usd: float | None, usage: Usage, usd: float | None) -> None:
        """A call was made and used this; the rest is there for the next one. An unknown usage counts in full."""
        self.calls.append((usage, usd))
        self.paid.append((usage, usd))
        if usage.prompt_tokens is not None and usage.completion_tokens is not None:
            most = (bound.prompt_tokens or 0) + (bound.completion_tokens or 0)
            self._taken_tokens += usage.prompt_tokens + usage.completion_tokens - most
        if usd is not None:
            self._taken_usd += usd - (bound_usd or 0.0)

    def stop(self, error: StopRun) -> None:
        """The run has to end, and with it the program."""
        if not self.stopped.done():
            self.stopped.set_exception(error)
            self.stopped.exception()  # somebody may never look
