"""The circuit breaker of one endpoint: a systemic fault stops the run instead of walking through the whole data set.

It counts calls that were lost (their own retries included), by the text of the failure with numbers and identifiers
taken out. Reaching the limit for one text without a healthy answer in between opens the circuit, for good: a run is
started again, not an endpoint. Answers in between, of whichever call, reset the count.

While attempts fail in a row, calls that have not been sent yet wait for the fate of those that have: a dead endpoint
costs a few calls their attempts, not every call of the run its first one.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter

from skillopt.core.errors import CircuitOpen

IDENTICAL_FAILURES = 10

_IDENTIFIER = re.compile(r"\b(?=\w*\d)[\w-]{6,}\b|\d+(?:\.\d+)?")
_SPACE = re.compile(r"\s+")


def normalised(text: str) -> str:
    """The failure without what differs from call to call: numbers, request ids, case and spacing."""
    return _SPACE.sub(" ", _IDENTIFIER.sub("#", text)).strip().lower()


class Breaker:
    """See the module. `endpoint` is named in the error."""

    def __init__(self, endpoint: str, *, limit: int = IDENTICAL_FAILURES) -> None:
        self.endpoint = endpoint
        self.limit = limit
        self._lost: Counter[str] = Counter()
        self._reason = ""
        self._failing = 0
        self._under_way = 0
        self._change: asyncio.Future[None] | None = None

    def check(self) -> None:
        """Raises `CircuitOpen` once the circuit is open; to be called before every attempt."""
        if self._reason:
            raise CircuitOpen(
                f"{self.limit} calls in a row to {self.endpoint} failed with: {self._reason}",
                hint="the finished work is kept: start again when the provider answers",
            )

    def admit(self) -> bool:
        """May a new call be sent now? True counts it as under way until `left`; after False, await `changed`."""
        if self._failing >= self.limit and self._under_way:
            return False
        self._under_way += 1
        return True

    async def changed(self) -> None:
        """Wait until an answer came or a call left."""
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._change)

    def left(self) -> None:
        """A call that was admitted is over, however it ended."""
        self._under_way -= 1
        self._notify()

    def failed(self) -> None:
        """One attempt failed; the call may yet succeed."""
        self._failing += 1

    def healthy(self) -> None:
        """The endpoint answered a call."""
        self._lost.clear()
        self._failing = 0
        self._notify()

    def _notify(self) -> None:
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    def lost(self, message: str) -> None:
        """A call was lost after all its attempts. Raises `CircuitOpen` when it was one too many."""
        kind = normalised(message)
        self._lost[kind] += 1
        if self._lost[kind] >= self.limit:
            self._reason = self._reason or message
            self.check()
