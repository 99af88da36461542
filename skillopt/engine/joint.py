"""Several runs of one configuration that differ in their seed: what may be said of all of them together.

Two claims, each with its own 5 %, from two splits that do not touch. *The skill to use*: each run's proof on the
selection split, corrected over the runs by Holm's procedure; of the runs that hold, the one with the highest selection
score is chosen, so its sealed test is read by no choice. *The configuration*: the gain on the sealed test averaged over
the runs, an item at a time, with one interval over items: it holds for new items and the mean of these runs' skills.
How far runs differ is said by worst, best and spread, and by a sign test over runs; no interval is made of so few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from skillopt.core.outcome import Scored
from skillopt.engine.acceptance.closing import FOLDER
from skillopt.gate.family import holm
from skillopt.gate.interval import mean_interval
from skillopt.gate.metric import Metric
from skillopt.gate.pvalue import paired_p, sign_p, two_sided_p
from skillopt.gate.repeats import by_item
from skillopt.records.beside.seeds import SeedRow, SeedsSummary
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.records.schema import Difference, GateRecord, ScoreSummary, Summary


@dataclass(frozen=True)
class SeedRun:
    """One run of the several: `run` is None where it could not begin, and `fault` says why."""

    seed: int
    directory: str
    run: Run | None
    fault: str = ""

    @property
    def summary(self) -> Summary | None:
        """What it came to."""
        return self.run.summary if self.run is not None else None


def together(runs: Sequence[SeedRun], metric: Metric, alpha: float | None) -> SeedsSummary:
    """The joint summary. `alpha` is the level of the runs' proofs, None under a rule without one proof at the end."""
    gains = {each.seed: _gains(each, metric) for each in runs}
    rows = [_row(each, gains[each.seed], metric, alpha, place, len(runs)) for place, each in enumerate(runs, start=1)]
    if alpha is not None:
        held = holm([row.p for row in rows], alpha)
        rows = [replace(row, proven_jointly=h) for row, h in zip(rows, held, strict=True)]
    tested = [row.difference.delta for row in rows if row.difference is not None]
    read = [found for each in runs if (found := each.summary) is not None and _tested(found)]
    ups, downs = sum(d > 0 for d in tested), sum(d < 0 for d in tested)
    summary = SeedsSummary(
        rows=tuple(rows),
        metric=metric.name,
        alpha=alpha,
        baseline=next((found.baseline_test for found in read), ScoreSummary()),
        mean=_mean([found for found in gains.values() if found]),
        worst=min(tested, default=None),
        best=max(tested, default=None),
        spread=stdev(tested) if len(tested) > 1 else None,
        gained=ups,
        gained_p=sign_p(ups, downs) if tested else None,
        readings=sum(found.test_reading for found in read),
        chosen=_chosen(rows, alpha),
    )
    return replace(summary, verdict=_verdict(summary))


def _tested(summary: Summary | None) -> bool:
    return summary is not None and summary.test.n > 0


def _row(
    each: SeedRun, gains: Mapping[str, float], metric: Metric, alpha: float | None, place: int, count: int
) -> SeedRow:
    found = each.summary
    if found is None:
        return SeedRow(seed=each.seed, directory=each.directory, stopped=each.fault or "it has not ended")
    p = _proof(each, metric, alpha) if alpha is not None else None
    return SeedRow(
        seed=each.seed,
        directory=each.directory,
        verdict=found.verdict,
        stopped=each.fault or found.stopped,
        best_skill_hash=found.best_skill_hash,
        changed=not found.unchanged and found.measured,
        selection=found.best_gate_score,
        test=found.test,
        difference=_difference(list(gains.values())) if len(gains) > 1 else None,
        p=p,
        proven=p is not None,
        reading=(found.test_reading - 1) * count + place if _tested(found) else 0,
    )


def _value(row: RolloutRow, metric: Metric) -> float | None:
    return None if row.hard is None or row.soft is None else metric.of(Scored(row.hard, row.soft))


def _gains(each: SeedRun, metric: Metric) -> dict[str, float]:
    """Best minus initial skill by item of the sealed test; empty where it cannot be compared."""
    found = each.summary
    if each.run is None or not _tested(found) or (found is not None and found.paired is not None and found.paired.void):
        return {}
    before, after = each.run.rollouts("test_eval_baseline"), each.run.rollouts("test_eval")
    values = ((name, _value(row, metric), before.get(name)) for name, row in after.items())
    pairs = ((name, a, _value(b, metric)) for name, a, b in values if b is not None)
    return {name: a - b for name, a, b in pairs if a is not None and b is not None}


def _difference(differences: Sequence[float]) -> Difference:
    low, high = mean_interval(differences)
    return Difference(
        n=len(differences),
        wins=sum(d > 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        delta=math.fsum(differences) / len(differences),
        interval=(round(low, 6), round(high, 6)),
        p=two_sided_p(differences),
    )


def _mean(gains: Sequence[Mapping[str, float]]) -> Difference | None:
    """The gain of the average run: over the items that every tested run has measured."""
    if not gains:
        return None
    names = [name for name in gains[0] if all(name in one for one in gains)]
    if len(names) < 2:
        return None
    return _difference([fmean(one[name] for one in gains) for name in names])


def _proof(each: SeedRun, metric: Metric, alpha: float) -> float | None:
    """The p-value of what a run proved, None where it proved nothing.

    A look that accepted early knows only the most that its p-value could become; the proven text was then asked the
    rest of the split, so the p-value of all of it is taken. A further ending is corrected by what it was charged.
    """
    found = each.summary
    last = found.last_look if found is not None else None
    if each.run is None or found is None or found.unchanged:
        return None
    if last is None or not last.proven:  # an earlier ending's proof stands; only its level is known
        return alpha
    charged = alpha / last.alpha if last.alpha else 1.0
    return min(1.0, charged * _whole_p(each.run, metric, last))


def _whole_p(run: Run, metric: Metric, last: GateRecord) -> float:
    before = {(row.id, row.repeat): _value(row, metric) for row in run.draws("selection_eval_baseline")}
    pairs = [(row.id, _value(row, metric), before.get((row.id, row.repeat))) for row in run.draws(FOLDER)]
    known = [(name, (0.0 if a is None else a) - b) for name, a, b in pairs if b is not None]
    p = 1.0 if last.p is None else last.p
    return min(p, paired_p(by_item(known))) if known and len(known) == len(before) else p


def _chosen(rows: Sequence[SeedRow], alpha: float | None) -> int | None:
    """The run whose skill is the product: by the selection split alone. None where the initial skill stays."""
    could = [row for row in rows if row.changed and (row.proven_jointly or alpha is None)]
    best = max(could, key=lambda row: (row.selection or 0.0, -row.seed), default=None)
    return best.seed if best is not None else None


def _verdict(summary: SeedsSummary) -> str:
    """Both claims in two sentences, and no more."""
    count, tested = len(summary.rows), sum(row.difference is not None for row in summary.rows)
    mean = summary.mean
    if not any(row.changed for row in summary.rows):
        return f"None of {count} runs kept a candidate: the initial skill stays the product."
    if mean is None:
        first = f"None of {count} runs has a sealed test that can be compared."
    else:
        low, high = mean.interval
        word = "Better" if low > 0 else "Worse" if high < 0 else "Not distinguishable from the initial skill"
        first = (
            f"{word}: {mean.delta:+.3f} on average over {tested} of {count} runs, 95 % interval {low:+.3f} to "
            f"{high:+.3f} ({mean.n} sealed test items), worst run {summary.worst or 0.0:+.3f}."
        )
    if summary.alpha is None:
        kept = "by its selection score, which is no proof" if summary.chosen is not None else ""
        second = f"The skill of seed {summary.chosen} was chosen {kept}." if kept else "No run kept a candidate."
        return f"{first} {second}"
    proven, jointly = sum(row.proven for row in summary.rows), sum(row.proven_jointly for row in summary.rows)
    second = (
        f"{proven} of {count} runs proved a better skill, {jointly} of them also jointly (Holm, "
        f"{100 * summary.alpha:g} % over all runs)"
    )
    end = f"the skill of seed {summary.chosen} is the product." if summary.chosen is not None else (
        "the initial skill stays the product."
    )  # fmt: skip
    return f"{first} {second}: {end}"
