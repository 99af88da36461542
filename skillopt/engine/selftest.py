"""The gate's self-test: the current skill against itself, on fresh draws. What differs is noise, and nothing else.

It says how much a verdict can rest on luck here (the noise floor), the smallest gain that a look can prove, how many
items or repeats would show a given gain, and whether the split is at its ceiling or its floor. A copy of the skill goes
through the real gates: it must come out as no difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.core.json_types import JsonValue
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.choose import look_level
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.summary.scores import paired_summary, score_summary
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import items_to_see, least_items, lucky, smallest_gain
from skillopt.gate.simulated import gain_seen
from skillopt.gate.strict import StrictGate, Unit, failures_first
from skillopt.records.codec import encode_record
from skillopt.records.schema import PairedSummary, ScoreSummary
from skillopt.records.vocabulary import Stage

TARGETS = (0.02, 0.05, 0.10)
CEILING, FLOOR = 0.95, 0.02


@dataclass(frozen=True)
class Verdicts:
    """What each rule said of the copy."""

    strict: str
    paired: str


@dataclass(frozen=True)
class SelfTest:
    """The findings. Shares are 0 to 1; `noise` is the share of items that the two draws answer differently."""

    n: int
    first: ScoreSummary
    second: ScoreSummary
    comparison: PairedSummary | None
    noise: float
    lucky: float
    alpha: float
    """One-sided level of the look that the figures are for."""
    smallest_gain: float | None
    repeats_gain: dict[int, float | None]
    items_for: dict[str, int | None]
    verdicts: Verdicts
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """`selftest.json`."""
        return encode_record(self)


async def selftest(context: RunContext, skill: Skill) -> SelfTest:
    """Two draws of one skill on the selection split; writes `selftest.json` into the run directory.

    The first draw is the one a training run in the same directory starts from: it is not asked again.
    """
    items = context.selection
    with staged(context, Stage.SELFTEST, total=2 * len(items)):
        rollouts = await measure(context, skill, items, stage=Stage.SELFTEST, repeats=2)
    first, second = rollouts[::2], rollouts[1::2]
    alpha = look_level(context.config)
    pairs = zip(first, second, strict=True)
    values = [(context.metric.value(a.outcome), context.metric.value(b.outcome)) for a, b in pairs]
    both = [(a, b) for a, b in values if a is not None and b is not None]
    noise = sum(a != b for a, b in both) / len(both) if both else 0.0
    power = _Power(tuple(a - b for a, b in both), alpha)
    result = SelfTest(
        n=len(both),
        first=score_summary(first, metric=context.metric),
        second=score_summary(second, metric=context.metric),
        comparison=paired_summary(first, second, context.metric),
        noise=noise,
        lucky=lucky(len(both), noise) if both else 0.0,
        alpha=alpha,
        smallest_gain=power.smallest_gain(1),
        repeats_gain={r: power.smallest_gain(r) for r in (2, 4)} if noise else {},
        items_for={f"{gain:g}": power.items_for(gain) for gain in TARGETS},
        verdicts=_verdicts(context, first, second),
        warnings=tuple(_warnings(context, both, noise)),
    )
    context.run_dir.write("selftest.json", result.to_json())
    return result


@dataclass(frozen=True)
class _Power:
    """What a look can see with this noise: the differences of two draws of one skill, an item each."""

    differences: tuple[float, ...]
    alpha: float

    @property
    def _turned(self) -> float | None:
        """Share of items turned over where scores are right or wrong; None for other scores."""
        binary = all(d in (-1.0, 0.0, 1.0) for d in self.differences)
        return sum(d != 0 for d in self.differences) / len(self.differences) if binary else None

    def smallest_gain(self, repeats: int) -> float | None:
        """Counted where it can be, else simulated by the gate's own test."""
        n = len(self.differences)
        if not n:
            return None
        turned = self._turned
        if repeats == 1 and turned is not None:
            return smallest_gain(n, turned, alpha=self.alpha)
        return gain_seen(self.differences, n, repeats=repeats, alpha=self.alpha)

    def items_for(self, gain: float) -> int | None:
        """Items that show a gain. Scores between 0 and 1 count as right-or-wrong ones whose noise varies as much."""
        if not self.differences:
            return None
        turned = self._turned
        if turned is None:
            turned = math.fsum(d * d for d in self.differences) / len(self.differences)
        return items_to_see(gain, turned, alpha=self.alpha)


def _verdicts(context: RunContext, first: list[Rollout], second: list[Rollout]) -> Verdicts:
    """The copy's second draw at both gates, against the first draw."""
    units = [Unit(n, r.item.id, context.metric.value(r.outcome), r.item.id) for n, r in enumerate(first)]
    order = failures_first(units, {})
    floor = context.config.evaluation.coverage_floor
    strict = StrictGate(order, early=False, coverage_floor=floor, best_score=None)
    look = PairedGate(order, Terms(look_level(context.config), coverage_floor=floor), early=False)
    for unit in order:
        for gate in (strict, look):
            gate.observe(context.metric.value(second[unit.index].outcome))
    return Verdicts(strict.verdict().action, look.verdict().action)


def _warnings(context: RunContext, both: list[tuple[float, float]], noise: float) -> list[str]:
    found: list[str] = []
    n, alpha = len(both), look_level(context.config)
    if not both:
        return ["nothing could be measured"]
    mean = math.fsum(a + b for a, b in both) / (2 * n)
    room, needed = sum(a < 1 for a, _ in both), least_items(alpha)
    if mean >= CEILING:
        found.append(f"ceiling: the skill already scores {mean:.2f}; only {room} of {n} items can still be won")
    if mean <= FLOOR:
        found.append(f"floor: the skill scores {mean:.2f}; look at one answer, its format or the scorer may be wrong")
    if room < needed:
        found.append(f"a paired gate can never pass here: {room} items can be won, {needed} wins are the least")
    if noise == 0:
        found.append("both draws are equal: the target answers the same every time, repeats add nothing")
    if len(both) < len(context.selection):
        found.append(f"{len(context.selection) - n} of {len(context.selection)} items could not be measured twice")
    return found
