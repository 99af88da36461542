"""What the samples of held-out tasks say about a proposal: one look, and the confirmation after it.

The unit of evidence is the task: the difference of its two means is one observation, and repeats only make it less
noisy. A look is the exact permutation test over tasks (`gate.permutation`). The i-th look at one proposal, counted over
all its nights, has the level a/2^(i-1), where a is the night's alpha divided by its trials. An accepted look must be
confirmed by samples that nobody saw before; a proposal without effect passes that at most half the time, so over all
its looks, on however many nights, it is accepted with a chance of at most a.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillopt.gate.interval import mean_interval
from skillopt.gate.permutation import least_items, sign_flip_p

LookVerdict = Literal["accept", "reject", "open", "undecided", "unproven"]


@dataclass(frozen=True)
class Sample:
    """One scored reply: `value` in the gate's metric, `passed` when its hard score is 1. None: not measured."""

    value: float | None
    passed: bool = False


@dataclass(frozen=True)
class TaskPair:
    """A held-out task's samples on both sides, the same number of each."""

    task_id: str
    incumbent: tuple[Sample, ...]
    candidate: tuple[Sample, ...]

    @property
    def difference(self) -> float | None:
        """Candidate's mean minus the incumbent's; None while one of them has no sample."""
        before, after = _mean(self.incumbent), _mean(self.candidate)
        return None if before is None or after is None else after - before

    def extreme(self, *, favourable: bool) -> float:
        """The difference if every missing sample had gone for the candidate, or against it."""
        before = [float(not favourable) if s.value is None else s.value for s in self.incumbent]
        after = [float(favourable) if s.value is None else s.value for s in self.candidate]
        return math.fsum(after) / len(after) - math.fsum(before) / len(before)

    @property
    def regressed(self) -> bool:
        """True when every sample of the incumbent passed and every one of the candidate failed."""
        sides = (self.incumbent, self.candidate)
        if any(s.value is None for side in sides for s in side) or not all(sides):
            return False
        return all(s.passed for s in self.incumbent) and not any(s.passed for s in self.candidate)

    def with_more(self, more: TaskPair) -> TaskPair:
        """The same task with further samples."""
        return TaskPair(self.task_id, self.incumbent + more.incumbent, self.candidate + more.candidate)


@dataclass(frozen=True)
class Terms:
    """What the night asks of a proposal. `level` is a, before halving for later looks."""

    level: float
    min_effect: float = 0.0
    coverage_floor: float = 0.95
    regression_budget: int = 0

    def at(self, look: int) -> float:
        """Level of the look with this number, counted from 1."""
        return self.level / 2 ** (look - 1)


@dataclass(frozen=True)
class Look:
    """One look at a proposal, or its confirmation, with the arithmetic."""

    verdict: LookVerdict
    reason: str
    n: int
    effect: float | None
    p: float | None
    level: float
    coverage: float
    regressed: tuple[str, ...] = ()
    before: float | None = None
    after: float | None = None
    differences: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the effect; it holds at every n, and so it is wide."""
        values = list(self.differences.values())
        return mean_interval(values) if len(values) > 1 else None


def look_at(pairs: Sequence[TaskPair], terms: Terms, *, number: int) -> Look:
    """One look. `open`: nothing speaks against it, and more samples or tasks may still prove it."""
    level = terms.at(number)
    whole = [pair for pair in pairs if pair.difference is not None]
    differences = [d for pair in whole if (d := pair.difference) is not None]
    p = sign_flip_p(differences)
    if len(pairs) < least_items(level):
        return _look(
            "unproven", f"{len(pairs)} held-out tasks cannot prove anything at {level:.3g}", pairs, p, level, ()
        )
    regressed = tuple(pair.task_id for pair in whole if pair.regressed)
    if len(regressed) > terms.regression_budget:
        reason = f"breaks what worked: {', '.join(regressed)}"
        return _look("reject", reason, pairs, p, level, regressed)
    coverage = _coverage(pairs)
    if coverage < terms.coverage_floor:
        return _look("undecided", f"only {coverage:.0%} of the samples could be measured", pairs, p, level, regressed)
    effect = _average(differences)
    if effect is None or effect <= 0:
        return _look("reject", "no gain on held-out tasks", pairs, p, level, regressed)
    proven = p <= level and effect >= terms.min_effect
    if proven and coverage < 1 and sign_flip_p([pair.extreme(favourable=False) for pair in pairs]) > level:
        return _look("undecided", "the missing samples could turn it", pairs, p, level, regressed)
    if proven:
        return _look("accept", f"p = {p:.2g} at level {level:.3g}", pairs, p, level, regressed)
    wanted = f"p = {p:.2g}, level {level:.3g}" if p > level else f"gain below {terms.min_effect:g}"
    return _look("open", f"could not be proven: {wanted}", pairs, p, level, regressed)


def confirmation(pairs: Sequence[TaskPair], terms: Terms) -> Look:
    """Whether new samples bear an accepted look out: a mean difference above zero, and nothing broken."""
    whole = [pair for pair in pairs if pair.difference is not None]
    regressed = tuple(pair.task_id for pair in whole if pair.regressed)
    differences = [d for pair in whole if (d := pair.difference) is not None]
    effect, p = _average(differences), sign_flip_p(differences)
    if _coverage(pairs) < terms.coverage_floor:
        return _look("undecided", "the confirmation could not be measured", pairs, p, terms.level, regressed)
    if len(regressed) > terms.regression_budget:
        return _look("reject", f"the confirmation breaks {', '.join(regressed)}", pairs, p, terms.level, regressed)
    if effect is None or effect <= 0:
        return _look("reject", "the confirmation shows no gain", pairs, p, terms.level, regressed)
    return _look("accept", f"confirmed on new samples: {effect:+.3f}", pairs, p, terms.level, regressed)


def noise_of(pairs: Sequence[TaskPair]) -> float | None:
    """The A/A difference: the mean size of the difference between two halves of the incumbent's own samples."""
    sizes: list[float] = []
    for pair in pairs:
        values = [s.value for s in pair.incumbent if s.value is not None]
        half = len(values) // 2
        if half:
            sizes.append(abs(math.fsum(values[:half]) - math.fsum(values[half : 2 * half])) / half)
    return _average(sizes)


def merged(old: Sequence[TaskPair], new: Sequence[TaskPair]) -> list[TaskPair]:
    """All samples of all tasks, in the order of first mention."""
    found: dict[str, TaskPair] = {}
    for pair in (*old, *new):
        known = found.get(pair.task_id)
        found[pair.task_id] = pair if known is None else known.with_more(pair)
    return list(found.values())


def _look(
    verdict: LookVerdict, reason: str, pairs: Sequence[TaskPair], p: float, level: float, regressed: tuple[str, ...]
) -> Look:
    differences = {pair.task_id: d for pair in pairs if (d := pair.difference) is not None}
    values = list(differences.values())
    means = [(_mean(pair.incumbent), _mean(pair.candidate)) for pair in pairs if pair.task_id in differences]
    return Look(
        verdict=verdict,
        reason=reason,
        n=len(values),
        effect=_average(values),
        p=p,
        level=level,
        coverage=_coverage(pairs),
        regressed=regressed,
        before=_average([m for m, _ in means if m is not None]),
        after=_average([m for _, m in means if m is not None]),
        differences=differences,
    )


def _mean(samples: Sequence[Sample]) -> float | None:
    return _average([s.value for s in samples if s.value is not None])


def _average(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _coverage(pairs: Sequence[TaskPair]) -> float:
    samples = [s for pair in pairs for s in (*pair.incumbent, *pair.candidate)]
    return sum(s.value is not None for s in samples) / len(samples) if samples else 0.0
