"""The circuit breaker of one endpoint: a systemic fault stops the run, or is waited for, instead of walking through the
whole data set.

It counts calls that were lost (their own retries included), by the text of the failure with numbers and identifiers
taken out. Reaching the limit for one text without a healthy answer in between opens the circuit, for good: a run is
started again, not an endpoint. Answers in between, of whichever call, reset the count. A request that failed while
others were answered is remembered as at fault itself: ten such items at the end of a split are no outage. While
attempts fail in a row, calls that have not been sent yet wait for the fate of those that have: a dead endpoint costs a
few calls their attempts, not every call of the run its first one.

An endpoint that has answered this run before is waited for instead (see `outage`), and given up after a while.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from skillopt.core.errors import CircuitOpen, ModelError, TransientModelError
from skillopt.model.traffic.outage import Outage, OutagePolicy

IDENTICAL_FAILURES = 10
LOOK_UP_S = 0.5
"""How often a call that waits asks whether the run is to end."""

_IDENTIFIER = re.compile(r"\b(?=\w*\d)[\w-]{6,}\b|\d+(?:\.\d+)?")
_SPACE = re.compile(r"\s+")


def normalised(text: str) -> str:
    """The failure without what differs from call to call: numbers, request ids, case and spacing."""
    return _SPACE.sub(" ", _IDENTIFIER.sub("#", text)).strip().lower()


class Breaker:
    """See the module. `endpoint` is named in the error; `recovered` is called after an outage in which a call that was
    sent alone was refused too."""

    def __init__(
        self,
        endpoint: str,
        *,
        limit: int = IDENTICAL_FAILURES,
        policy: OutagePolicy | None = None,
        recovered: Callable[[], None] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.limit = limit
        self._policy = policy or OutagePolicy()
        self._recovered = recovered
        self.outage: Outage | None = None
        self._known = False
        self._lost: dict[str, set[object]] = {}
        """By the text of the failure, the requests that were lost with it since the last healthy answer."""
        self._at_fault: set[str] = set()
        """Requests that were lost while the endpoint answered others."""
        self._reason = ""
        self._failing = 0
        self._gone = 0
        self._failed: set[object] = set()
        """The calls that have failed since the last healthy answer; `_gone` counts attempts that found nobody there."""
        self._answers = 0
        self._under_way = 0
        self._change: asyncio.Future[None] | None = None

    @property
    def answers(self) -> int:
        """Healthy answers so far: a call that sees the same number twice has heard of none in between."""
        return self._answers

    def answered_before(self) -> None:
        """An earlier process of the run had an answer of this endpoint."""
        self._known = True

    def check(self) -> None:
        """Raises `CircuitOpen` once the circuit is open, and what ends the run; to be called before every attempt."""
        if self._reason:
            raise CircuitOpen(self._reason, hint="the finished work is kept: start again when the provider answers")
        if self.outage is not None and self._policy.check is not None:
            self._policy.check()

    @property
    def may_try(self) -> bool:
        """False while the endpoint is down and it is nobody's turn."""
        return self.outage is None or self.outage.free

    def admit(self, call: object, *, again: bool) -> bool:
        """May this call be sent now? True counts a new one as under way until `left`; after False, await `changed`."""
        if self.outage is not None:
            if not self.outage.takes(call):
                return False
        elif not again and self._failing >= self.limit and self._under_way:
            return False
        self._under_way += not again
        return True

    async def changed(self) -> None:
        """Wait until an answer came, a call left, an endpoint that is down may be tried, or a moment has passed."""
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        left = self.outage.next_in if self.outage is not None else 0.0
        wait = min(left, LOOK_UP_S) if left > 0 else LOOK_UP_S
        await asyncio.wait({self._change}, timeout=wait + 0.001)

    def left(self, call: object) -> None:
        """A call that was admitted is over, however it ended."""
        self._under_way -= 1
        self.dropped(call)
        self._notify()

    def dropped(self, call: object) -> None:
        """An attempt ended without a word of the endpoint (cancelled, no budget): another may be sent instead."""
        if self.outage is not None:
            self.outage.released(call)

    def at_fault(self, request: str, *, when_failed: int | None) -> bool:
        """Whether the request's failures are its own: others were answered since it failed first, or before."""
        return request in self._at_fault or (when_failed is not None and when_failed < self._answers)

    def failed(self, call: object, error: ModelError, *, own: bool = False) -> None:
        """One attempt failed; the call may yet succeed. `own`: it is at fault itself. Raises `CircuitOpen` when an
        outage has taken too long."""
        self._failing += 1
        if self.outage is not None:
            if self.outage.failed(call) and self.outage.over:
                self._give_up()
            self._notify()
        elif not own and not _is_refusal(error):
            self._failed.add(call)
            self._gone += _is_unreachable(error)
            if self._waits and max(self._gone, len(self._failed)) >= self.limit:
                self._goes_down(error)

    def forgives(self, error: ModelError, *, when_sent: int | None, own: bool) -> bool:
        """Whether a call that has used up its attempts may try again once the endpoint is back: it is down, or nobody
        is there since the call failed first, or none of many calls was answered since this one was sent. `when_sent` is
        `answers` at that time."""
        hangs = self._under_way >= self.limit and when_sent == self._answers
        gone = _is_unreachable(error) and when_sent is not None
        if self.outage is None and self._waits and not own and (gone or hangs):
            self._goes_down(error)
        return self.outage is not None

    def healthy(self) -> None:
        """The endpoint answered a call."""
        self._known = True
        self._answers += 1
        self._lost.clear()
        self._failing = 0
        self._gone = 0
        self._failed.clear()
        outage, self.outage = self.outage, None
        if outage is not None and outage.ended() and self._recovered is not None:
            self._recovered()
        self._notify()

    def lost(self, error: ModelError, *, request: str = "", own: bool = False) -> None:
        """A call was lost after all its attempts. Raises `CircuitOpen` when it was one too many."""
        if own:
            self._at_fault |= {request} if request else set()
            return
        alike = self._lost.setdefault(normalised(error.message), set())
        alike.add(request or object())
        if len(alike) < self.limit:
            return
        if self.outage is None and self._waits:
            self._goes_down(error)
        if self.outage is None:
            failure = f"{self.limit} calls in a row to {self.endpoint} failed with: {error.message}"
            self._reason = self._reason or failure
            self.check()

    @property
    def _waits(self) -> bool:
        return self._known and self._policy.seconds > 0

    def _goes_down(self, error: ModelError) -> None:
        self.outage = Outage(self.endpoint, error.message, self._policy)

    def _give_up(self) -> None:
        outage = self.outage
        if outage is not None:
            outage.given_up()
            self._reason = f"{self.endpoint} did not answer for {outage.waited}: {outage.reason}"
        self._notify()
        self.check()

    def _notify(self) -> None:
        if self._change is not None:
            self._change.set_result(None)
            self._change = None


def _is_refusal(error: ModelError) -> bool:
    """A refusal that says "not so much": the limiter's business."""
    return isinstance(error, TransientModelError) and error.overloaded and not error.unreachable


def _is_unreachable(error: ModelError) -> bool:
    """Whether the failure says that nobody is there, or a deadline's last failure did."""
    cause = error if isinstance(error, TransientModelError) else error.__cause__
    return isinstance(cause, TransientModelError) and cause.unreachable
