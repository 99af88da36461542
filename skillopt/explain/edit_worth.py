"""What each edit of a skill is worth: the skill without it, on the same items (leave one out, paired).

Pure: texts and numbers. An edit is a cause of `explain.provenance` that still has lines in the skill; the skill without
it has what it replaced put back. `worth` is the mean difference, full skill minus the skill without the edit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt.core.outcome import Outcome
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.explain.cause import Cause
from skillopt.explain.provenance import Traced
from skillopt.gate.interval import mean_interval
from skillopt.gate.pvalue import paired_p
from skillopt.gate.repeats import by_item
from skillopt.model.tokens import expected
from skillopt.records.beside.ablation import Saved, WorthRecord

Value = Callable[[Outcome], "float | None"]

ALPHA = 0.05
"""Level of the non-inferiority test of a pruned skill, one-sided."""


@dataclass(frozen=True)
class Part:
    """One edit that can be left out: its lines, and the skill without it."""

    cause: Cause
    lines: tuple[str, ...]
    without: Skill

    def saved(self, full: Skill) -> Saved:
        """What leaving it out saves, in tokens (estimated) and characters; negative where it had shortened the text."""
        return Saved(
            tokens=expected(full.text) - expected(self.without.text), chars=len(full.text) - len(self.without.text)
        )


def parts(traced: Traced) -> list[Part]:
    """Every edit of the skill that still says something, in the order of the run. One whose lines are gone, or without
    which the text would be the same, is no part."""
    full = traced.version.skill
    found: list[Part] = []
    for name in traced.surviving():
        text = traced.without([name]).version.skill
        lines = tuple(line.text for line in traced.lines if line.origin == name and line.text.strip())
        if text != full:
            found.append(Part(traced.causes[name], lines, text))
    return found


def compare(full: Sequence[Rollout], ablated: Sequence[Rollout], value: Value) -> WorthRecord:
    """Both skills on the same items and draws. Missing outcomes take no part; draws of one item are averaged."""
    pairs = _pairs(full, ablated, value)
    differences = by_item(pairs)
    names = list(dict.fromkeys(name for name, _ in pairs))
    interval = mean_interval(differences) if len(differences) > 1 else None
    return WorthRecord(
        worth=math.fsum(differences) / len(differences) if differences else None,
        interval=(round(interval[0], 6), round(interval[1], 6)) if interval else None,
        won=tuple(n for n, d in zip(names, differences, strict=True) if d > 0),
        lost=tuple(n for n, d in zip(names, differences, strict=True) if d < 0),
        n=len(differences),
        total=len({r.item.id for r in full}),
        verdict=_verdict(interval),
    )


def _verdict(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "not measured"
    low, high = interval
    return "pays" if low > 0 else "harms" if high < 0 else "not shown"


def worse_p(full: Sequence[Rollout], pruned: Sequence[Rollout], value: Value, *, margin: float) -> float:
    """p-value against "the pruned skill is worse by `margin` or more", over items that both have measured."""
    return paired_p(by_item((name, -difference) for name, difference in _pairs(full, pruned, value)), margin=margin)


def items_to_show(margin: float) -> int | None:
    """Items without any difference that show "not worse by `margin`"; None when 5,000 do not suffice."""
    low, high = 1, 5_000
    if paired_p([0.0] * high, margin=margin) > ALPHA:
        return None
    while low < high:
        middle = (low + high) // 2
        if paired_p([0.0] * middle, margin=margin) <= ALPHA:
            high = middle
        else:
            low = middle + 1
    return low


def _pairs(full: Sequence[Rollout], other: Sequence[Rollout], value: Value) -> list[tuple[str, float]]:
    known = {(r.item.id, r.repeat): value(r.outcome) for r in other}
    both = [(r.item.id, value(r.outcome), known.get((r.item.id, r.repeat))) for r in full]
    return [(name, a - b) for name, a, b in both if a is not None and b is not None]
