"""The strict gate: a candidate is kept when its mean is strictly greater than the current one's. Ties reject.

It decides early and exactly (invariant I9): units are looked at in an order fixed before the candidate is seen, and the
candidate is dropped at the first prefix after which even perfect scores on all that is left could not win. A full
evaluation would have said the same. Sums are compared with `math.fsum`, which is correctly rounded, so the sign of a
difference is exact.

A unit that the incumbent has not measured takes no part in the comparison. One that only the candidate has not measured
may still become a win before its last retry, so the bound counts it as one; in the end a candidate is kept only if it
wins with that unit counted as wrong, so that faults never help it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.gate.interval import mean_interval
from skillopt.gate.repeats import by_item
from skillopt.gate.verdict import Action, Evidence, Verdict

BEST_VALUE = 1.0
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Unit:
    """One paired measurement: an item's repeat, with the incumbent's value on it (None = not measured).

    Repeats of one item are not independent: `item` (the name when empty) says which belong together in the interval.
    """

    index: int
    name: str
    incumbent: float | None
    item: str = ""


def failures_first(units: Sequence[Unit], changed_outcomes: Mapping[str, int]) -> list[Unit]:
    """The order that lets arithmetic decide soonest: most headroom first, then the most volatile, then file order.

    `changed_outcomes` counts how often earlier candidates won or lost a unit. A rejection needs every unit the
    incumbent fails (a win may hide there) and then only as many losses as there were wins; volatile units bring those
    soonest.
    """
    return sorted(
        units,
        key=lambda u: (u.incumbent if u.incumbent is not None else -1.0, -changed_outcomes.get(u.name, 0), u.index),
    )


def file_order(units: Sequence[Unit], changed_outcomes: Mapping[str, int]) -> list[Unit]:
    """The order of the file; for comparison with published runs."""
    del changed_outcomes
    return sorted(units, key=lambda u: u.index)


class StrictGate:
    """One decision. Feed `observe` with the candidate's value on each ordered unit; `settled` says when to stop."""

    def __init__(
        self,
        units: Sequence[Unit],
        *,
        early: bool,
        coverage_floor: float,
        best_score: float | None,
        max_losses: int | None = None,
        ties_win: bool = False,
        handicap: float = 0.0,
    ) -> None:
        """`units` in the gate's order; `best_score` is the best gate score so far (None = nothing measured).

        `max_losses` is the regression budget: with more items lost, whatever was won, the candidate is rejected. With
        `ties_win` an equal mean is enough. `handicap` is what the candidate's mean is given before anything is asked
        (`gate.density`: its bonus less the current skill's); negative, it has to win more.
        """
        self.units = list(units)
        self._early = early
        self._floor = coverage_floor
        self._best = best_score
        self._handicap = handicap
        self._values: list[float | None] = []
        self._terms: list[float] = []
        self._headroom = [0.0] * (len(self.units) + 1)
        for at in range(len(self.units) - 1, -1, -1):
            incumbent = self.units[at].incumbent
            self._headroom[at] = self._headroom[at + 1] + (0.0 if incumbent is None else self._most(incumbent))
        self._gain = 0.0
        self._losses = 0
        self._max_losses = max_losses
        self._ties_win = ties_win

    @property
    def seen(self) -> int:
        """Units observed so far."""
        return len(self._values)

    def observe(self, value: float | None) -> None:
        """Record the candidate's value on the next unit; None when it could not be measured."""
        unit = self.units[self.seen]
        self._values.append(value)
        if unit.incumbent is not None:
            terms = self._best_terms(unit.incumbent) if value is None else (value, -unit.incumbent, self._handicap)
            self._terms += terms
            self._gain += sum(terms)
            self._losses += value is not None and value < unit.incumbent

    def _most(self, incumbent: float) -> float:
        """The most a unit that is not measured yet can add: nothing, when even a perfect score would be a loss, because
        it may stay unmeasured and take no part."""
        return max(0.0, BEST_VALUE - incumbent + self._handicap)

    def _best_terms(self, incumbent: float) -> tuple[float, ...]:
        return (BEST_VALUE, -incumbent, self._handicap) if self._most(incumbent) > 0 else ()

    def _cannot_win(self) -> bool:
        # Running sums are cheap; only where rounding could matter is the exact sum worth its price.
        if self._gain + self._headroom[self.seen] > _ROUNDING:
            return False
        rest = [t for u in self.units[self.seen :] if u.incumbent is not None for t in self._best_terms(u.incumbent)]
        return not self._wins(math.fsum((*self._terms, *rest)))

    def _wins(self, gain: float) -> bool:
        return gain > 0 or (self._ties_win and gain == 0)

    def _over_budget(self) -> bool:
        return self._max_losses is not None and self._losses > self._max_losses

    @property
    def settled(self) -> bool:
        """True when no further unit can change the verdict."""
        if self.seen == len(self.units):
            return True
        return self._early and (self._over_budget() or self._cannot_win())

    def needed(self) -> int:
        """How many further units are certainly looked at, whatever their values: launching so many wastes nothing.

        A unit that scores 0 lowers the reachable sum by one, or by one and what the candidate is behind from the start,
        so that many units are needed to sink below zero.
        """
        left = len(self.units) - self.seen
        if not self._early:
            return left
        fall = 1 + max(0.0, -self._handicap)
        most = math.ceil((self._gain + self._headroom[self.seen] - _ROUNDING) / fall) + self._ties_win
        if self._max_losses is not None:
            most = min(most, self._max_losses + 1 - self._losses)
        return max(0, min(left, most))

    def verdict(self) -> Verdict:
        """The decision. Call it when `settled`."""
        paired = self._paired()
        complete = self.seen == len(self.units)
        measured = [v for v in self._values if v is not None]
        score = math.fsum(measured) / len(measured) if complete and measured else None
        differences = by_item([(u.item or u.name, v - i) for u, v, i in paired])
        evidence = Evidence(
            wins=tuple(u.name for u, v, i in paired if v > i),
            losses=tuple(u.name for u, v, i in paired if v < i),
            evaluated=self.seen,
            total=len(self.units),
            missing=sum(v is None for v in self._values),
            early_stopped=not complete,
            bound=None if complete else self._bound(),
            interval=mean_interval(differences) if complete and len(differences) > 1 else None,
        )
        action, reason = self._decide(evidence, score)
        return Verdict(action=action, score=score if action != "undecided" else None, evidence=evidence, reason=reason)

    def _paired(self) -> list[tuple[Unit, float, float]]:
        seen = zip(self.units, self._values, strict=False)
        return [(u, v, u.incumbent) for u, v in seen if v is not None and u.incumbent is not None]

    def _as_lost(self) -> list[tuple[Unit, float, float]]:
        """The pairs with what the candidate alone has not measured counted as wrong."""
        seen = zip(self.units, self._values, strict=False)
        return [(u, 0.0 if v is None else v, u.incumbent) for u, v in seen if u.incumbent is not None]

    def _bound(self) -> float:
        rest = [BEST_VALUE] * (len(self.units) - self.seen)
        return math.fsum([BEST_VALUE if v is None else v for v in self._values] + rest) / len(self.units)

    def _decide(self, evidence: Evidence, score: float | None) -> tuple[Action, str]:
        tally = f"{len(evidence.wins)} won, {len(evidence.losses)} lost"
        if self._over_budget():
            return "reject", f"over the regression budget of {self._max_losses} items ({tally})"
        if evidence.early_stopped and not evidence.evaluated:
            return "reject", "the current skill already solves every selection item: nothing can score higher"
        if evidence.early_stopped:
            return "reject", f"cannot exceed the current score any more after {evidence.evaluated} items ({tally})"
        if self._cannot_win():  # missing outcomes count as wins here, so that early and full evaluation agree
            return "reject", f"not strictly better than the current skill ({tally})"
        if score is None or evidence.coverage < self._floor:
            got = evidence.evaluated - evidence.missing
            return "undecided", f"only {got} of {evidence.total} selection outcomes could be measured"
        measured = math.fsum(t for _, v, i in self._paired() for t in (v, -i))
        if not self._wins(math.fsum(t for _, v, i in self._paired() for t in (v, -i, self._handicap))):
            outweighed = "; a measured gain, outweighed by the current skill's bonus for words" if measured > 0 else ""
            return "reject", f"not strictly better than the current skill ({tally}{outweighed})"
        lost = math.fsum(t for _, v, i in self._as_lost() for t in (v, -i, self._handicap))
        if not self._wins(lost):
            return "undecided", f"better only without what is missing, and a missing outcome is no win ({tally})"
        new_best = self._best is None or score > self._best
        action: Action = "accept_new_best" if new_best else "accept"
        if self._ties_win and measured == 0:
            return action, f"as good as the current skill, and shorter ({tally})"
        by_words = self._handicap > 0 and measured <= 0
        better = "kept for its bonus for words alone, measured no" if by_words else "strictly"
        whom = "the current and the best skill" if new_best else "the current skill, not than the best"
        return action, f"{better} better than {whom} ({tally})"
