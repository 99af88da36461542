"""A trial that stops as soon as it is clear enough, so that large trials cost little.

The items that the current skill fails are asked first. A candidate without any effect wins some of them too, by a fresh
draw alone; the run's rejected candidates have shown how many. One that wins no more is not worth the rest: this is
asked at thirds of the failing items, more strictly each time. Among the items that the current skill solves only losses
can be seen: at quarters of them a trial ends when the losses so far, carried on, leave clearly less or clearly more
than nothing. Stopping can lose a small gain; a trial proves nothing either way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt.gate.strict import BEST_VALUE, StrictGate
from skillopt.gate.verdict import Verdict

MARGINS = (-0.7, -0.2, 0.3)
"""Standard errors above what luck wins, at thirds of the failing items; measured in benchmarks/LOG.md."""
KNOWN_AFTER = 20
"""Failing items that rejected candidates must have been asked before anything is concluded from them."""
CLEARLY_LESS, CLEARLY_MORE = 1.2, 1.7
"""Standard errors of wins less losses, carried on over all solved items."""
_QUARTERS = 4
_LEAST_SOLVED = 8
_PASSED = "passed"


@dataclass(frozen=True)
class Luck:
    """What the run's rejected candidates won of the items that the current skill failed."""

    wins: int = 0
    asked: int = 0

    def plus(self, wins: int, asked: int) -> Luck:
        """With one more rejected candidate."""
        return Luck(self.wins + wins, self.asked + asked)

    def least_wins(self, failing: int, margin: float = MARGINS[-1]) -> float:
        """Wins of `failing` items that are more than luck; 0 while too little is known."""
        if self.asked < KNOWN_AFTER:
            return 0.0
        expected = failing * self.wins / self.asked
        return expected + margin * math.sqrt(expected)


class TrialGate:
    """The strict rule on a failures-first order, ended by what is clear; without `luck` the strict rule alone."""

    def __init__(self, gate: StrictGate, luck: Luck | None) -> None:
        """`gate` must not have seen anything yet."""
        self._gate, self._luck = gate, luck
        self._failing = 0
        for unit in gate.units:
            if unit.incumbent is not None and unit.incumbent >= BEST_VALUE:
                break
            self._failing += 1
        solved = len(gate.units) - self._failing
        self._thirds = {math.ceil(self._failing * k / len(MARGINS)): m for k, m in enumerate(MARGINS, start=1)}
        self._quarters = [max(_LEAST_SOLVED, math.ceil(solved * k / _QUARTERS)) for k in range(1, _QUARTERS)]
        self._solved = solved
        self._wins = 0
        self._won = self._lost = 0.0
        self._missing = 0
        self._ended = ""

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
            gain = (BEST_VALUE if value is None else value) - unit.incumbent
            self._wins += gain > 0
            if self.seen < self._failing:
                self._won += gain
            else:
                self._lost -= gain
        self._missing += value is None
        self._gate.observe(value)
        if self._luck is not None and not self._ended:
            self._ended = self._futile(self._luck) or self._clear()

    def _futile(self, luck: Luck) -> str:
        margin = self._thirds.get(self.seen)
        if margin is None or self._wins >= luck.least_wins(self.seen, margin):
            return ""
        return f"{self._wins} won of {self.seen} items that the current skill fails: no more than luck wins"

    def _clear(self) -> str:
        asked = self.seen - self._failing
        if asked not in self._quarters or asked >= self._solved:
            return ""
        ahead = self._lost * self._solved / asked
        if self._won - ahead < -CLEARLY_LESS * math.sqrt(max(1.0, ahead)):
            return f"{self._lost:g} lost of the first {asked} solved items: all of them would cost more than was won"
        ahead = (self._lost + 1) * self._solved / asked
        if not self._missing and self._won - ahead > CLEARLY_MORE * math.sqrt(max(0.0, self._won) + ahead):
            return _PASSED
        return ""

    @property
    def settled(self) -> bool:
        """True when no further unit is asked."""
        return self._gate.settled or bool(self._ended)

    def needed(self) -> int:
        """Units that are certainly asked next."""
        places = [*self._thirds, *(self._failing + k for k in self._quarters)] if self._luck is not None else []
        following = min((at - self.seen for at in places if at > self.seen), default=len(self._gate.units))
        return min(self._gate.needed(), following)

    def verdict(self) -> Verdict:
        """The strict rule's, or what was clear enough."""
        verdict = self._gate.verdict()
        if self._gate.settled or not self._ended:
            return verdict
        if self._ended == _PASSED:
            return replace(
                verdict, action="accept", reason="clearly more won than the solved items can be expected to lose"
            )
        return replace(verdict, action="reject", reason=self._ended)
