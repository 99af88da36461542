"""A trial that stops when a candidate wins no more than luck does.

The items that the current skill fails are asked first. A candidate without any effect wins some of them too, by a fresh
draw alone; the run's rejected candidates have shown how many. One that wins no more is not worth the rest of the trial,
which only asks what it breaks. Stopping here can lose a small gain; it proves nothing and admits nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt.gate.strict import BEST_VALUE, StrictGate
from skillopt.gate.verdict import Verdict

MARGIN = 0.5
"""Standard errors above the mean of rejected candidates; a candidate without effect goes on in about three of ten."""
KNOWN_AFTER = 20
"""Failing items that rejected candidates must have been asked before anything is concluded from them."""


@dataclass(frozen=True)
class Luck:
    """What the run's rejected candidates won of the items that the current skill failed."""

    wins: int = 0
    asked: int = 0

    def plus(self, wins: int, asked: int) -> Luck:
        """With one more rejected candidate."""
        return Luck(self.wins + wins, self.asked + asked)

    def least_wins(self, failing: int) -> float:
        """Wins of `failing` items that are more than luck; 0 while too little is known."""
        if self.asked < KNOWN_AFTER:
            return 0.0
        expected = failing * self.wins / self.asked
        return expected + MARGIN * math.sqrt(expected)


class TrialGate:
    """The strict rule, given up after the failing items of a failures-first order unless more than luck was won."""

    def __init__(self, gate: StrictGate, luck: Luck) -> None:
        """`gate` must not have seen anything yet."""
        self._gate = gate
        self._failing = 0
        for unit in gate.units:
            if unit.incumbent is not None and unit.incumbent >= BEST_VALUE:
                break
            self._failing += 1
        self._least = luck.least_wins(self._failing)
        self._wins = 0

    @property
    def seen(self) -> int:
        """Units observed so far."""
        return self._gate.seen

    @property
    def failing_asked(self) -> int:
        """Units observed so far that the current skill fails."""
        return min(self.seen, self._failing)

    def observe(self, value: float | None) -> None:
        """Record the candidate's value on the next unit; one that is not measured yet may still be a win."""
        unit = self._gate.units[self.seen]
        if unit.incumbent is not None:
            self._wins += (BEST_VALUE if value is None else value) > unit.incumbent
        self._gate.observe(value)

    @property
    def futile(self) -> bool:
        """True when the failing items are asked and luck would have won as many."""
        return self._failing <= self.seen and self._wins < self._least

    @property
    def settled(self) -> bool:
        """True when no further unit is asked."""
        return self._gate.settled or self.futile

    def needed(self) -> int:
        """Units that are certainly asked next."""
        left = self._failing - self.seen
        return min(self._gate.needed(), left) if left > 0 else self._gate.needed()

    def verdict(self) -> Verdict:
        """The strict rule's, or the rejection of a candidate that wins no more than luck does."""
        verdict = self._gate.verdict()
        if self._gate.settled or not self.futile:
            return verdict
        reason = f"{self._wins} won of the {self._failing} items that the current skill fails: no more than luck wins"
        return replace(verdict, action="reject", reason=reason)
