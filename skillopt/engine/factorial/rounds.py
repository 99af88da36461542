"""One round: every trial with its own text, all of them side by side, what is missing tried once more.

Outcomes come back in the order of the design, whatever order the answers came in. A text is composed once a round;
draws of an item are numbered over the whole run, so that no answer is asked for twice and none is used twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Edit
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import Batch, StepPlan
from skillopt.engine.run.context import RunContext
from skillopt.envs.rollout import Call, run_one
from skillopt.optimizer.factorial.compose import Composed, compose
from skillopt.optimizer.factorial.design import Trial
from skillopt.optimizer.factorial.pool import Subset
from skillopt.records.events import StageProgress
from skillopt.records.vocabulary import Stage


class Texts:
    """Subset → skill, composed once."""

    def __init__(self, base: Skill) -> None:
        self.base = base
        self._known: dict[Subset, Composed] = {}

    def composed(self, edits: Mapping[int, Edit], subset: Subset) -> Composed:
        """The base with the edits of a subset, and those that could not be applied together with the others."""
        if subset not in self._known:
            self._known[subset] = compose(self.base, edits, subset)
        return self._known[subset]


async def roll_out(
    context: RunContext, trials: Sequence[Trial], skills: Sequence[Skill], items: Mapping[str, Item], *, step: int
) -> list[Rollout]:
    """The rollouts of a round, in its order. Raises `StopRun`."""
    places = asyncio.Semaphore(context.width(Stage.ROLLOUT, len(trials)))
    done = [0, 0]
    hard = [0.0]
    watch = context.watch(Stage.ROLLOUT, step)

    async def one(n: int) -> Rollout:
        async with places:
            call = Call(Stage.ROLLOUT, trials[n].draw, scoring=context.scoring, watch=watch)
            return await run_one(context.env, items[trials[n].item], skills[n], context.target, call)

    async def first(n: int) -> Rollout:
        rollout = await one(n)
        _report(context, rollout, done, hard, len(trials), step)
        return rollout

    rollouts = await gather_all([first(n) for n in range(len(trials))])
    lost = [n for n, rollout in enumerate(rollouts) if isinstance(rollout.outcome, Missing)]
    for n, rollout in zip(lost, await gather_all([one(n) for n in lost]), strict=True):
        rollouts[n] = rollout
    return rollouts


def _report(context: RunContext, rollout: Rollout, done: list[int], hard: list[float], total: int, step: int) -> None:
    done[0] += 1
    if rollout.scored is None:
        done[1] += 1
    else:
        hard[0] += rollout.scored.hard
    measured = done[0] - done[1]
    context.emit(
        StageProgress(
            stage=Stage.ROLLOUT, step=step, done=done[0], total=total, missing=done[1],
            hard=hard[0] / measured if measured else None,
        )
    )  # fmt: skip


def plan_of(trials: Sequence[Trial], items: Mapping[str, Item], plan: StepPlan) -> tuple[StepPlan, list[list[int]]]:
    """The step's plan with the items that the design took, and the trials of each of its batches: an item that came
    twice is in two, because a batch has each item once."""
    batches: list[list[int]] = []
    for n, trial in enumerate(trials):
        free = (b for b in batches if all(trials[m].item != trial.item for m in b))
        batch = next(free, None)
        if batch is None:
            batches.append([n])
        else:
            batch.append(n)
    seeds = plan.batches[0].seed
    made = tuple(Batch(seeds, tuple(items[trials[n].item] for n in batch)) for batch in batches)
    return StepPlan(plan.step, plan.epoch, plan.step_in_epoch, made), batches
