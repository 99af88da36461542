"""The paired gate's look: is the candidate better than the proven skill on the same selection items, at level alpha?

The test is one number of the complete evaluation, an exact p-value (`gate.pvalue`) that no order of asking can change.
Units are asked in an order fixed before the candidate is seen, and asking stops on both sides as soon as the answer is
certain: when even perfect scores on the rest could not bring the p-value down to alpha, and when even total failure on
the rest could not bring it above. So stopping early decides exactly as the full evaluation would (invariant I9). One
stop is not exact and can only lose power, never admit: with `futility` > 0 a candidate is dropped when the wins it
would still need are more than a rate that its wins so far make implausible (chance `futility`).

A unit that the proven skill has not measured takes no part in the test. One that only the candidate has not measured
may still become a win before its last retry; in the end it is a loss, so that faults never help a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt.gate.interval import mean_interval
from skillopt.gate.power import least_items
from skillopt.gate.pvalue import paired_p, rate_at_most, sign_p
from skillopt.gate.repeats import by_item
from skillopt.gate.strict import BEST_VALUE, Unit
from skillopt.gate.verdict import Action, Evidence, Verdict

_EVERY = 4
"""Units between two checks where the test costs more than counting."""
_FUTILE_AFTER = 4
_BINARY = (0.0, 1.0)


@dataclass(frozen=True)
class Terms:
    """What a look demands. `margin` > 0 asks for "not worse by the margin" (a candidate that is shorter); `max_losses`
    is the most items that may be lost, None for no limit."""

    alpha: float
    min_effect: float = 0.0
    margin: float = 0.0
    futility: float = 0.1
    max_losses: int | None = None
    coverage_floor: float = 0.95

    def holds(self, differences: Sequence[float]) -> bool:
        """True when these per-item differences, were they all, would be accepted."""
        if not differences or math.fsum(differences) / len(differences) < self.min_effect - self.margin:
            return False
        if self.max_losses is not None and sum(d < 0 for d in differences) > self.max_losses:
            return False
        return paired_p(differences, margin=self.margin) <= self.alpha

    def holds_for(self, wins: int, losses: int, n: int) -> bool:
        """The same for right-or-wrong scores without a margin, by their counts."""
        if not n or (wins - losses) / n < self.min_effect:
            return False
        if self.max_losses is not None and losses > self.max_losses:
            return False
        return sign_p(wins, losses) <= self.alpha


class PairedGate:
    """One look. Feed `observe` with the candidate's value on each ordered unit; `settled` says when to stop."""

    def __init__(self, units: Sequence[Unit], terms: Terms, *, early: bool) -> None:
        """`units` in the gate's order, with the proven skill's values."""
        self.units = list(units)
        self.terms = terms
        self._early = early
        self._values: list[float | None] = []
        self._wins = self._losses = 0
        self._binary = terms.margin == 0 and len({u.item or u.name for u in units}) == len(self.units)
        self._binary = self._binary and all(u.incumbent is None or u.incumbent in _BINARY for u in units)
        self._asked_headroom = 0
        self._compared = sum(u.incumbent is not None for u in units)
        self._could_win = _counted_from(units, lambda incumbent: incumbent < BEST_VALUE)
        self._could_lose = _counted_from(units, lambda incumbent: incumbent > 0.0)
        self._settled: bool | None = None

    @property
    def seen(self) -> int:
        """Units observed so far."""
        return len(self._values)

    def observe(self, value: float | None) -> None:
        """Record the candidate's value on the next unit; None when it could not be measured."""
        unit = self.units[self.seen]
        self._values.append(value)
        self._settled = None
        if unit.incumbent is None:
            return
        shown = BEST_VALUE if value is None else value
        self._binary = self._binary and shown in _BINARY
        self._wins += shown > unit.incumbent
        self._losses += shown < unit.incumbent
        self._asked_headroom += unit.incumbent < BEST_VALUE

    def needed(self) -> int:
        """Units that are certainly asked next: at least one, or all where early stopping is off."""
        left = len(self.units) - self.seen
        if not self._early:
            return left
        return max(0, min(left, self._wins_short()))

    @property
    def settled(self) -> bool:
        """True when no further unit can change the decision."""
        if self.seen == len(self.units):
            return True
        if not self._early:
            return False
        if self._settled is None:
            check = self._binary or self.seen % _EVERY == 0
            self._settled = check and (self._hopeless() or self._certain() or self._futile())
        return self._settled

    def _wins_short(self) -> int:
        """Wins that are missing for acceptance if nothing more were lost."""
        short = 1
        while short <= len(self.units) and sign_p(self._wins + short, self._losses) > self.terms.alpha:
            short += 1
        return short

    def _headroom(self) -> int:
        return self._could_win[self.seen]

    def _hopeless(self) -> bool:
        if self._binary:
            return not self.terms.holds_for(self._wins + self._headroom(), self._losses, self._compared)
        return not self.terms.holds(self._completed(BEST_VALUE))

    def _certain(self) -> bool:
        if None in self._values:
            return False
        if self._binary:
            losses = self._losses + self._could_lose[self.seen]
            return self.terms.holds_for(self._wins, losses, self._compared)
        return self.terms.holds(self._completed(0.0))

    def _futile(self) -> bool:
        beta, asked = self.terms.futility, self._asked_headroom
        if not beta or not self._binary or asked < _FUTILE_AFTER:
            return False
        rest = self._headroom()
        if not rest:
            return False
        most = self._wins + math.ceil(rest * rate_at_most(min(self._wins, asked), asked, beta=beta))
        return sign_p(most, self._losses) > self.terms.alpha

    def _completed(self, rest: float) -> list[float]:
        """Per-item differences if all that is missing or left scored `rest`."""
        values = [rest if v is None else v for v in self._values]
        values += [rest] * (len(self.units) - len(values))
        return by_item(
            (u.item or u.name, v - u.incumbent)
            for u, v in zip(self.units, values, strict=True)
            if u.incumbent is not None
        )

    def _pairs(self) -> list[tuple[Unit, float, float]]:
        seen = zip(self.units, self._values, strict=False)
        return [(u, v, u.incumbent) for u, v in seen if v is not None and u.incumbent is not None]

    def verdict(self) -> Verdict:
        """The decision. Call it when `settled`."""
        pairs = self._pairs()
        differences = by_item((u.item or u.name, v - i) for u, v, i in pairs)
        complete = self.seen == len(self.units)
        measured = [v for v in self._values if v is not None]
        evidence = Evidence(
            wins=tuple(u.name for u, v, i in pairs if v > i),
            losses=tuple(u.name for u, v, i in pairs if v < i),
            evaluated=self.seen,
            total=len(self.units),
            missing=sum(v is None for v in self._values),
            early_stopped=not complete,
            interval=mean_interval(differences) if complete and len(differences) > 1 else None,
            p=self._p(complete=complete),
            alpha=self.terms.alpha,
        )
        action, reason = self._decide(evidence, differences)
        decided = action not in ("draft", "undecided")
        score = math.fsum(measured) / len(measured) if complete and measured and decided else None
        return Verdict(action, score, evidence, reason)

    def _p(self, *, complete: bool) -> float | None:
        """The p-value of a complete look, missing outcomes lost; of one that accepted early the most it could still
        have become."""
        if not complete and not self._certain():
            return None
        return paired_p(self._completed(0.0), margin=self.terms.margin)

    def _decide(self, evidence: Evidence, differences: Sequence[float]) -> tuple[Action, str]:
        terms, tally = self.terms, f"{len(evidence.wins)} won, {len(evidence.losses)} lost"
        level = f"alpha {terms.alpha:.4f}"
        if evidence.early_stopped and self._certain():
            return "accept_new_best", f"proven at {level} whatever the other items say ({tally})"
        if evidence.early_stopped or not terms.holds(self._completed(BEST_VALUE)):
            gain = math.fsum(differences)
            if terms.max_losses is not None and len(evidence.losses) > terms.max_losses:
                return "reject", f"over the regression budget of {terms.max_losses} items ({tally})"
            room, least = self._could_win[0], least_items(terms.alpha)
            if not self.seen and room < least and not terms.margin:
                return "reject", (
                    f"nothing can be proven on {evidence.total} items at {level}: {room} of them are left to win, and "
                    f"{least} wins without a loss are the least"
                )
            action: Action = "draft" if gain > 0 else "reject"
            return action, f"not proven at {level} after {evidence.evaluated} of {evidence.total} items ({tally})"
        if evidence.coverage < terms.coverage_floor:
            got = evidence.evaluated - evidence.missing
            return "undecided", f"only {got} of {evidence.total} selection outcomes could be measured"
        if terms.holds(self._completed(0.0)):
            claim = f"not worse by {terms.margin:g} and shorter" if terms.margin else "better"
            return "accept_new_best", f"{claim}, p = {evidence.p:.2g} at {level} ({tally})"
        return "undecided", f"not proven at {level}: outcomes are missing, and a missing one is no win ({tally})"


def _counted_from(units: Sequence[Unit], which: Callable[[float], bool]) -> list[int]:
    """How many units from each place on have an incumbent's value of this kind."""
    counts = [0]
    for unit in reversed(units):
        counts.append(counts[-1] + (unit.incumbent is not None and which(unit.incumbent)))
    return counts[::-1]
