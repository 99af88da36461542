"""Longitudinal comparison: the skill of an epoch ago and the skill of now on the same training items, side by side.

Which items: `slow_update_samples` training items, shuffled with `Random(seed + 2000·epoch)`. The policy `changed` keeps
only pairs whose result changed and goes on through the rest of that shuffle, in waves of equal size, until it has as
many pairs as were sampled or no item is left. A wave is rolled out at full width and read in order, so the pairs, and
the calls made for them, do not depend on speed or on the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.aio import gather_all
from skillopt.core.item import Item, safe_name
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import numbered, shuffled
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.optimizer.epoch.pairs import Pair, counts, kept, pair
from skillopt.optimizer.epoch.slow_update import Compared
from skillopt.records.directory import RunDir
from skillopt.records.schema import ComparisonRecord
from skillopt.records.vocabulary import Stage

STAGE = Stage.LONGITUDINAL
"""Tag of the rollouts; both skills count as one stage."""


@dataclass
class Comparison:
    """Both skills' rollouts and the pairs made of them. `topup_*` are what policy `changed` rolled out beyond the
    sample; `left_out` counts items of which a side is missing."""

    prev_skill: Skill
    curr_skill: Skill
    prev: list[Rollout] = field(default_factory=list[Rollout])
    curr: list[Rollout] = field(default_factory=list[Rollout])
    topup_prev: list[Rollout] = field(default_factory=list[Rollout])
    topup_curr: list[Rollout] = field(default_factory=list[Rollout])
    every: list[Pair] = field(default_factory=list[Pair])
    pairs: list[Pair] = field(default_factory=list[Pair])
    left_out: int = 0
    tally: Tally = field(default_factory=Tally)

    @property
    def compared(self) -> Compared:
        """What the optimizer is shown of it."""
        return Compared(self.prev_skill, self.curr_skill, tuple(self.pairs))

    @property
    def shown(self) -> tuple[Rollout, ...]:
        """The current skill's rollouts that the optimizer sees."""
        return tuple(p.curr for p in self.pairs)

    def record(self) -> ComparisonRecord:
        """Its share of a result file: both means over the sample, and what became of the pairs."""
        prev, curr = (compute_score(r.outcome for r in side) for side in (self.prev, self.curr))
        return ComparisonRecord(
            prev_hard=prev.hard if prev else None,
            curr_hard=curr.hard if curr else None,
            prev_n=prev.n if prev else 0,
            curr_n=curr.n if curr else 0,
            prev_hash=self.prev_skill.hash,
            curr_hash=self.curr_skill.hash,
            n_sampled=len(self.prev),
            n_topup=len(self.topup_prev),
            n_pairs=len(self.pairs),
            n_pairs_left_out=self.left_out,
            categories=counts(self.pairs),
        )


async def compare(context: RunContext, prev: Skill, curr: Skill, *, epoch: int, step: int) -> Comparison:
    """Roll out both skills and pair what both sides have. Raises `StopRun`."""
    optimizer = context.config.optimizer
    count, policy = optimizer.slow_update_samples, optimizer.longitudinal_pair_policy
    order = sample_order(context.splits.train, seed=context.config.train.seed, epoch=epoch)
    done = Comparison(prev, curr)
    done.prev, done.curr = await _both(context, done, order[:count], step)
    done.every, done.left_out = pair(done.prev, done.curr, context.env.pass_threshold)
    done.pairs = kept(done.every, policy)
    at = count
    while policy == "changed" and len(done.pairs) < count and at < len(order):
        before, after = await _both(context, done, order[at : at + count], step)
        at += count
        done.topup_prev += before
        done.topup_curr += after
        more, left_out = pair(before, after, context.env.pass_threshold)
        done.every += more
        done.left_out += left_out
        done.pairs = [*done.pairs, *kept(more, policy)][:count]
    return done


def sample_order(items: Sequence[Item], *, seed: int, epoch: int) -> list[Item]:
    """All training items in the order in which an epoch's end draws them."""
    return shuffled(items, numbered(seed + 2000 * epoch))


async def _both(
    context: RunContext, done: Comparison, items: Sequence[Item], step: int
) -> tuple[list[Rollout], list[Rollout]]:
    skills = (done.prev_skill, done.curr_skill)
    with staged(context, STAGE, step=step, total=len(items), clock="two_skills"):
        prev, curr = await gather_all([measure(context, skill, items, stage=STAGE, step=step) for skill in skills])
    for side in (prev, curr):
        count_rollouts(done.tally, STAGE, side)
    return prev, curr


def write_comparison(run_dir: RunDir, folder: str, done: Comparison, context: RunContext) -> None:
    """Rollout directories and pairs under `folder`. Blocking; call it in a worker thread."""
    sides = (("prev", done.prev, done.topup_prev), ("curr", done.curr, done.topup_curr))
    for name, sample, topup in sides:
        place: Path = run_dir.root / folder / f"rollout_{name}"
        for rollout in topup:
            write_rollout_dir(place / "topup" / safe_name(rollout.item.id), [rollout])
        write_rollout_dir(place, sample)

    def rows(pairs: Sequence[Pair]) -> list[dict[str, JsonValue]]:
        return [p.to_json(context.env.task_text(p.item)) for p in pairs]

    run_dir.write(f"{folder}/comparison_pairs.json", rows(done.pairs))
    if context.config.optimizer.longitudinal_pair_policy != "mixed":
        run_dir.write(f"{folder}/comparison_pairs_all.json", rows(done.every))
