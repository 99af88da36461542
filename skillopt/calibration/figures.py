"""From verdicts and labels to figures with intervals. Pure.

Every mean is taken over items: the answers of one item are averaged first, because they are not independent of each
other. Intervals are the house's (`gate.interval`), which hold at every n; that of kappa is the agreement's, carried
through its formula; that of a rank correlation is an approximation and stays away below eight items.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from skillopt.calibration.labels import Labelled
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.gate.agreement import FEWEST_FOR_RANKS, beyond_chance, chance_agreement, rank_correlation, rank_interval
from skillopt.gate.interval import mean_interval, score_interval
from skillopt.records.beside.calibration import Disagreement, Figure, Kind

Interval = Callable[[Sequence[float]], tuple[float, float]]


@dataclass(frozen=True)
class Judged:
    """An answer with its labels and what the judge said of it, once a draw; draws without a verdict are not here."""

    labelled: Labelled
    draws: tuple[Scored, ...]


@dataclass(frozen=True)
class Figures:
    """All figures of one kind of labels; see `records.beside.calibration.Calibration`."""

    agreement: Figure
    chance: float
    kappa: Figure
    noise: Figure
    leniency: Figure | None
    rank: Figure | None
    spread: Figure | None
    position: Figure | None
    contradicted: Figure | None
    people: Figure | None
    disagreements: tuple[Disagreement, ...]


@dataclass(frozen=True)
class Reading:
    """How grades become verdicts: `passes` is the grade from which people call an answer right."""

    kind: Kind
    passes: float

    def people(self, label: float) -> str:
        """The verdict of a label."""
        if self.kind == "pairwise":
            return "a" if label > 0.5 else "b" if label < 0.5 else "tie"
        return "right" if label >= self.passes - 1e-9 else "wrong"

    def judge(self, draw: Scored) -> str:
        """The verdict of a draw: what a run would count."""
        return self.people(draw.soft) if self.kind == "pairwise" else "right" if draw.hard >= 1.0 else "wrong"


def figures(judged: Sequence[Judged], reading: Reading) -> Figures:
    """All figures; what cannot be said is None with its reason."""
    measured = [one for one in judged if one.draws]
    ours = [[reading.judge(draw) for draw in one.draws] for one in measured]
    theirs = [[reading.people(label) for label in one.labelled.labels] for one in measured]
    agreement = _figure(measured, [_share_equal(a, b) for a, b in zip(ours, theirs, strict=True)], score_interval)
    chance = chance_agreement(_marginal(measured, ours), _marginal(measured, theirs))
    graded, pairs = reading.kind == "graded", reading.kind == "pairwise"
    several = [(one, _pairs_differ(row)) for one, row in zip(measured, theirs, strict=True) if len(row) > 1]
    return Figures(
        agreement=agreement,
        chance=chance,
        kappa=_kappa(agreement, chance),
        noise=_over_draws(measured, lambda one: _pairs_differ([reading.judge(draw) for draw in one.draws])),
        leniency=None if pairs else _figure(measured, [_leniency(one, graded) for one in measured], mean_interval),
        rank=_rank(measured) if graded else None,
        spread=_over_draws(measured, _spread) if graded else None,
        position=_position(measured, mean_interval, lambda value: value) if pairs else None,
        contradicted=_position(measured, score_interval, lambda value: float(value != 0)) if pairs else None,
        people=_figure([one for one, _ in several], [1 - differ for _, differ in several], score_interval)
        if several else None,
        disagreements=_disagreements(measured, ours, theirs),
    )  # fmt: skip


def _figure(judged: Sequence[Judged], values: Sequence[float], interval: Interval) -> Figure:
    """The mean over items."""
    by_item: dict[str, list[float]] = {}
    for one, value in zip(judged, values, strict=True):
        by_item.setdefault(one.labelled.item.id, []).append(value)
    means = [math.fsum(found) / len(found) for found in by_item.values()]
    if not means:
        return Figure(value=None, n=0, reason="nothing could be measured")
    bounds = interval(means) if len(means) > 1 else None
    return Figure(value=math.fsum(means) / len(means), n=len(means), interval=bounds)


def _over_draws(judged: Sequence[Judged], value: Callable[[Judged], float]) -> Figure:
    """A figure of answers that the judge was asked about twice or more."""
    repeated = [one for one in judged if len(one.draws) > 1]
    if not repeated:
        return Figure(value=None, n=0, reason="every answer was judged once; ask for two repeats or more")
    return _figure(repeated, [value(one) for one in repeated], score_interval)


def _position(judged: Sequence[Judged], interval: Interval, form: Callable[[float], float]) -> Figure:
    """A figure of the difference that the order makes: what an answer wins shown first, less what it wins second."""
    values = [math.fsum(form(_swayed(draw)) for draw in one.draws) / len(one.draws) for one in judged]
    return _figure(judged, values, interval)


def _swayed(draw: Scored) -> float:
    value = draw.detail.get("position")
    return float(value) if isinstance(value, (int, float)) else 0.0


def _kappa(agreement: Figure, chance: float) -> Figure:
    if agreement.value is None:
        return agreement
    value = beyond_chance(agreement.value, chance)
    if value is None:
        return Figure(value=None, n=agreement.n, reason="judge and people gave one and the same verdict everywhere")
    low_high = None
    if agreement.interval is not None:
        low, high = ((bound - chance) / (1 - chance) for bound in agreement.interval)
        low_high = (max(-1.0, low), min(1.0, high))
    return Figure(value=value, n=agreement.n, interval=low_high)


def _rank(judged: Sequence[Judged]) -> Figure:
    """The mean of the draws' rank correlations with the mean label: what one grade a run would use is worth."""
    items = len({one.labelled.item.id for one in judged})
    found: list[float] = []
    for n in range(max((len(one.draws) for one in judged), default=0)):
        rows = [one for one in judged if len(one.draws) > n]
        grades, labels = [one.draws[n].soft for one in rows], [_mean(one.labelled.labels) for one in rows]
        value = rank_correlation(grades, labels)
        if value is not None:
            found.append(value)
    if not found:
        return Figure(value=None, n=items, reason="grades or labels do not vary")
    value = _mean(found)
    few = "" if items >= FEWEST_FOR_RANKS else f"too few items for an interval ({FEWEST_FOR_RANKS} are the least)"
    return Figure(value=value, n=items, interval=rank_interval(value, items), reason=few)


def _leniency(one: Judged, graded: bool) -> float:
    given = _mean([draw.soft if graded else draw.hard for draw in one.draws])
    return given - _mean(one.labelled.labels)


def _spread(one: Judged) -> float:
    pairs = list(itertools.combinations([draw.soft for draw in one.draws], 2))
    return _mean([abs(a - b) for a, b in pairs])


def _share_equal(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return sum(a == b for a in ours for b in theirs) / (len(ours) * len(theirs))


def _pairs_differ(verdicts: Sequence[str]) -> float:
    """The chance that two of them, drawn without putting one back, differ."""
    n, counts = len(verdicts), Counter(verdicts)
    return 1 - sum(c * (c - 1) for c in counts.values()) / (n * (n - 1))


def _marginal(judged: Sequence[Judged], verdicts: Sequence[Sequence[str]]) -> dict[str, float]:
    """How often each verdict is given; every item weighs the same, as in the agreement."""
    of_item = Counter(one.labelled.item.id for one in judged)
    shares: dict[str, float] = {}
    for one, row in zip(judged, verdicts, strict=True):
        for verdict in row:
            shares[verdict] = shares.get(verdict, 0.0) + 1 / (len(row) * of_item[one.labelled.item.id])
    return shares


def _disagreements(
    judged: Sequence[Judged], ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]
) -> tuple[Disagreement, ...]:
    """Answers on which most draws differ from most people, the clearest first."""
    found: list[Disagreement] = []
    for one, said, labels in zip(judged, ours, theirs, strict=True):
        people = _most(labels)
        against = [n for n, verdict in enumerate(said) if verdict != people]
        if 2 * len(against) > len(said):
            draw = one.draws[against[0]]
            judge = _most([said[n] for n in against])
            reason = str(draw.detail.get(FEEDBACK) or draw.fail_reason)
            found.append(Disagreement(where=one.labelled.where, item=one.labelled.item.id, people=people, judge=judge,
                                      draws=len(said), against=len(against), reason=reason))  # fmt: skip
    return tuple(sorted(found, key=lambda row: -row.against / row.draws))


def _most(verdicts: Sequence[str]) -> str:
    """The most frequent one, the first of several."""
    return Counter(verdicts).most_common(1)[0][0]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)
