"""One call's way to its endpoint: a place, leave of the breaker, word to both of how it went; patience in an outage.

`attempt` sends once. `persist` wraps all the attempts of a call: what fails because the endpoint is down is no fault of
the call, so it waits without a place and off its deadline's time, and then has all its attempts and time again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from skillopt.core.errors import DeadlineExceeded, ModelError, TransientModelError
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.limiter import Limiter, Slot
from skillopt.model.traffic.retry import Deadline

T = TypeVar("T")


class Down(Exception):
    """The endpoint is down, and the call may go to another: it is not waited for here."""


class Passage:
    """See the module. `request` is what is asked, the same each time it is asked; `tokens` the expected number, for a
    limit per minute; faults of the classes `blameless` are not the endpoint's. A call that `moves` does not wait for an
    endpoint that is down: `attempt` raises `Down`."""

    def __init__(
        self,
        limiter: Limiter,
        breaker: Breaker,
        *,
        request: str = "",
        priority: int = 0,
        tokens: int = 0,
        blameless: tuple[type[Exception], ...] = (),
        moves: bool = False,
    ) -> None:
        self._limiter, self._breaker, self._request = limiter, breaker, request
        self._priority, self._tokens, self._blameless = priority, tokens, blameless
        self._moves = moves
        self._admitted = False
        self._heard_when_sent: int | None = None
        self._heard_when_failed: int | None = None

    async def persist(self, tries: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """`tries` until it returns, fails for good, or is lost while the endpoint answers others. Raises `CircuitOpen`
        when the endpoint is given up."""
        try:
            while True:
                self.begin()
                try:
                    return await tries()
                except (TransientModelError, DeadlineExceeded) as error:
                    if not self.forgiven(error):
                        self.lost(error)
                        raise
                    deadline.restart()
        finally:
            self.leave()

    def begin(self) -> None:
        """All attempts of the call begin."""
        self._heard_when_sent = self._heard_when_failed = None

    def forgiven(self, error: ModelError) -> bool:
        """Whether the call that has used up its attempts may have them again: its endpoint is down."""
        return self._breaker.forgives(error, when_sent=self._heard_when_sent, own=self._at_fault)

    def lost(self, error: ModelError) -> None:
        """The call is given up. Raises `CircuitOpen` when it was one too many."""
        self._breaker.lost(error, request=self._request, own=self._at_fault)

    @property
    def _at_fault(self) -> bool:
        return self._breaker.at_fault(self._request, when_failed=self._heard_when_failed)

    def leave(self) -> None:
        """The call is over."""
        if self._admitted:
            self._breaker.left(self)

    async def attempt(self, send: Callable[[], Awaitable[T]], *, used: Callable[[T], int | None] | None = None) -> T:
        """Wait for leave and a place, send, and tell limiter and breaker. `used` says how many tokens it took."""
        breaker = self._breaker
        while True:
            breaker.check()
            if not breaker.may_try and self._moves:
                raise Down
            if breaker.may_try:
                # In an outage those go first that have not failed: what is at fault itself cannot end it.
                first = self._admitted == (breaker.outage is None)
                async with self._limiter.place(priority=self._priority, tokens=self._tokens, again=first) as place:
                    breaker.check()
                    if breaker.admit(self, again=self._admitted):
                        self._admitted = True
                        return await self._sent(place, send, used)
            if self._moves:
                raise Down
            await breaker.changed()

    async def _sent(self, place: Slot, send: Callable[[], Awaitable[T]], used: Callable[[T], int | None] | None) -> T:
        breaker = self._breaker
        if self._heard_when_sent is None:
            self._heard_when_sent = breaker.answers
        try:
            reply = await send()
        except self._blameless:
            breaker.dropped(self)
            raise
        except (TransientModelError, DeadlineExceeded) as error:
            if self._heard_when_failed is None:
                self._heard_when_failed = breaker.answers
            if isinstance(error, TransientModelError) and error.overloaded:
                place.overloaded(error.retry_after)
            breaker.failed(self, error, own=self._at_fault)
            raise
        except BaseException:
            breaker.dropped(self)
            raise
        breaker.healthy()  # first: after an outage the width is restored to what it was before it
        place.succeeded(used(reply) if used is not None else None)
        return reply
