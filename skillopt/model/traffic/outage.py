"""One outage of an endpoint: since when, who may try, and when it is given up.

While it lasts one call at a time is sent, the first after a moment, the next after a tenth of the time that the outage
has lasted (half a second to half a minute). Events tell of it once such a call has failed: a blip is nobody's concern.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from skillopt.records.events import Emit, OutageEnd, OutageStart, silent

SHORTEST_S, LONGEST_S = 0.5, 30.0
_SHARE = 0.1


@dataclass(frozen=True)
class OutagePolicy:
    """How long an endpoint is waited for (0: not at all), who is told, and what is asked meanwhile: `check` raises
    `StopRun` where the run is to end."""

    seconds: float = 0.0
    emit: Emit = silent
    check: Callable[[], None] | None = None
    clock: Callable[[], float] = time.monotonic


class Outage:
    """See the module. `reason` is what the endpoint said first."""

    def __init__(self, endpoint: str, reason: str, policy: OutagePolicy) -> None:
        self._endpoint, self.reason, self._policy = endpoint, reason, policy
        self._since = policy.clock()
        self._next = self._since + SHORTEST_S
        self._trying: object | None = None
        self._told = False

    @property
    def _lasted(self) -> float:
        return self._policy.clock() - self._since

    @property
    def next_in(self) -> float:
        """Seconds until a call may be sent."""
        return max(0.0, self._next - self._policy.clock())

    @property
    def over(self) -> bool:
        """Whether it has taken as long as is waited."""
        return self._lasted >= self._policy.seconds

    @property
    def waited(self) -> str:
        """How long is waited, in words."""
        seconds = self._policy.seconds
        return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"

    @property
    def free(self) -> bool:
        """Whether a call may be sent now."""
        return self._trying is None and self.next_in <= 0

    def takes(self, call: object) -> bool:
        """True for the one call that may be sent now."""
        if not self.free:
            return False
        self._trying = call
        return True

    def released(self, call: object) -> None:
        """The call came to no end: another may go now."""
        if self._trying is call:
            self._trying = None

    def failed(self, call: object) -> bool:
        """A call failed. True when it was the one that was sent to try."""
        if self._trying is not call:
            return False
        self._trying = None
        pause = min(max(SHORTEST_S, _SHARE * self._lasted), LONGEST_S)
        self._next = self._policy.clock() + min(pause, max(0.0, self._policy.seconds - self._lasted))
        if not self._told:
            self._told = True
            self._policy.emit(OutageStart(endpoint=self._endpoint, reason=self.reason, lasted_s=self._lasted))
        return True

    def ended(self) -> bool:
        """The endpoint has answered. True when a call that was sent alone had been refused before."""
        if self._told:
            self._policy.emit(OutageEnd(endpoint=self._endpoint, seconds=self._lasted))
        return self._told

    def given_up(self) -> None:
        """It has taken too long."""
        if self._told:
            self._policy.emit(OutageEnd(endpoint=self._endpoint, seconds=self._lasted, outcome="stopped"))
