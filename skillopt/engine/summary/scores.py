"""The numbers under a run: scores with n and interval, the paired comparison, the price of a point.

Only measured outcomes count, and every score carries how many there were. Unequal attrition voids the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.gate.interval import mean_interval, score_interval
from skillopt.gate.metric import Metric
from skillopt.gate.pvalue import two_sided_p
from skillopt.gate.repeats import by_item
from skillopt.records.schema import Attrition, Difference, PairedSummary, PointCost, ScoreSummary, TypeScore

MAX_ATTRITION_GAP = 0.05


HARD = Metric()


def score_summary(rollouts: Sequence[Rollout] | None, why_not: str = "", metric: Metric = HARD) -> ScoreSummary:
    """Hard and soft means with n, total, coverage and the 95 % interval of the metric's mean; nulls with a reason."""
    score = compute_score(r.outcome for r in rollouts) if rollouts else None
    if score is None:
        return ScoreSummary(total=len(rollouts or ()), reason=why_not or "nothing could be measured")
    values = by_item([(r.item.id, metric.of(r.scored)) for r in rollouts or () if r.scored is not None])
    return ScoreSummary(
        hard=score.hard,
        soft=score.soft,
        n=score.n,
        total=score.total,
        coverage=round(score.coverage, 6),
        interval=_rounded(score_interval(values)) if len(values) > 1 else None,
        metric=metric.name,
        value=None if metric.name == "hard" else metric.mean([r.outcome for r in rollouts or ()]),
    )


def type_scores(rollouts: Sequence[Rollout], metric: Metric = HARD) -> dict[str, TypeScore]:
    """By task type and `overall`, over measured outcomes."""
    table: dict[str, TypeScore] = {}
    kinds = sorted({r.item.task_type for r in rollouts if r.item.task_type})
    for name, part in [("overall", rollouts), *((k, [r for r in rollouts if r.item.task_type == k]) for k in kinds)]:
        score = compute_score(r.outcome for r in part) if part else None
        value = None if metric.name == "hard" else metric.mean([r.outcome for r in part])
        table[name] = TypeScore(total=score.n, hard_acc=score.hard, value=value) if score else TypeScore()
    return table


def paired_summary(
    before: Sequence[Rollout] | None, after: Sequence[Rollout] | None, metric: Metric
) -> PairedSummary | None:
    """The comparison of two skills on the same items by the gate's metric: mean difference, interval, two-sided p.

    With the ids of the items won and lost, what each side lost to faults, and the same for each task type."""
    if not before or not after:
        return None
    first = {r.item.id: r.scored for r in before}
    pairs = [(first[r.item.id], r.scored) for r in after]
    found = [
        (r.item.id, r.item.task_type, metric.of(b) - metric.of(a))
        for r, (a, b) in zip(after, pairs, strict=True)
        if a is not None and b is not None
    ]
    if len(found) < 2:
        return None
    kinds = sorted({kind for _, kind, _ in found if kind})
    by_type = {kind: [d for _, k, d in found if k == kind] for kind in kinds}
    attrition = Attrition(initial=sum(a is None for a, _ in pairs), best=sum(b is None for _, b in pairs))
    gap = abs(attrition.initial - attrition.best) / len(pairs)
    whole = _difference([d for _, _, d in found])
    return PairedSummary(
        n=whole.n,
        wins=whole.wins,
        losses=whole.losses,
        delta=whole.delta,
        interval=whole.interval,
        p=whole.p,
        won=tuple(name for name, _, d in found if d > 0),
        lost=tuple(name for name, _, d in found if d < 0),
        by_type={kind: _difference(values) for kind, values in by_type.items() if len(values) > 1},
        attrition=attrition,
        attrition_gap=round(gap, 6),
        void=gap > MAX_ATTRITION_GAP,
        metric=metric.name,
    )


def _difference(differences: Sequence[float]) -> Difference:
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return Difference(
        n=len(differences),
        wins=wins,
        losses=losses,
        delta=math.fsum(differences) / len(differences),
        interval=_rounded(mean_interval(differences)),
        p=two_sided_p(differences),
    )


def _rounded(bounds: tuple[float, float]) -> tuple[float, float]:
    return round(bounds[0], 6), round(bounds[1], 6)


def per_point(comparison: PairedSummary | None, tokens: int | None, usd: float | None) -> PointCost | None:
    """What one percentage point of sealed-test gain cost, in tokens and dollars of the calls the result rests on.

    None where no gain was measured: a price of nothing is no price.
    """
    if comparison is None or comparison.void or comparison.delta <= 0:
        return None
    points = 100 * comparison.delta
    return PointCost(
        points=round(points, 6),
        tokens=None if tokens is None else round(tokens / points),
        usd=None if usd is None else round(usd / points, 6),
    )
