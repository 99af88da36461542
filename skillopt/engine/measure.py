"""Measuring skills: whole splits, and decisions that are streamed unit by unit.

Decisions read ordered prefixes, so the number of workers changes speed and nothing else. A unit that could not be
measured is tried once more before the verdict; what is still missing then is missing, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from skillopt.core.aio import gather_all
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.charging import charged
from skillopt.engine.run.context import RunContext
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.runner import run_batch
from skillopt.gate.stream import Decision, drive
from skillopt.records.events import StageProgress
from skillopt.records.vocabulary import Stage

GATE_CERTAIN, GATE_SPECULATIVE, PREFETCH = 0, 5, 10
"""Priorities at the endpoint: what a decision needs, what it may need, what a later step may need."""

GATE_AHEAD = 8
"""Units begun on speculation for each that the gate certainly needs. Behind the failures a gate waits for losses, which
are rare (about one unit in ten or twenty): without looking ahead it would wait for them nearly one by one."""


async def measure(
    context: RunContext,
    skill: Skill,
    items: Sequence[Item],
    *,
    stage: Stage,
    step: int | None = None,
    repeats: int = 1,
    first: int = 0,
    priority: int = GATE_CERTAIN,
    before: int = 0,
    total: int | None = None,
) -> list[Rollout]:
    """Roll out a skill on items, in file order (item-major): `repeats` draws each, numbered from `first`. Where the
    stage is more than this, `before` rollouts of it are done and `total` are all of them."""
    told: dict[int, StageProgress] = {}
    whole = len(items) * repeats if total is None else total

    def progress(event: StageProgress, k: int) -> None:
        told[k] = event
        context.emit(_together(list(told.values()), step, before, whole))

    rounds = await gather_all(
        [
            run_batch(
                context.env,
                items,
                skill,
                context.target,
                stage=stage,
                progress=partial(progress, k=k),
                repeat=k,
                priority=priority,
                width=context.width(stage, len(items)),
                scoring=context.scoring,
                watch=context.watch(stage, step),
            )
            for k in range(first, first + repeats)
        ]
    )
    return [round_[n] for n in range(len(items)) for round_ in rounds]


def _together(parts: Sequence[StageProgress], step: int | None, before: int, total: int) -> StageProgress:
    """Batches that run side by side are one stage to whoever watches."""
    done, missing = sum(p.done for p in parts), sum(p.missing for p in parts)
    measured = done - missing
    hard = sum((p.hard or 0.0) * (p.done - p.missing) for p in parts)
    return StageProgress(
        stage=parts[0].stage, step=step, done=before + done, total=total, missing=missing,
        hard=hard / measured if measured else None,
    )  # fmt: skip


D = TypeVar("D", bound=Decision)
Draw = tuple[Item, int]
"""An item and the number of the draw."""


async def stream_decision(
    context: RunContext,
    candidate: Skill,
    places: Sequence[Draw],
    fresh: Callable[[], D],
    *,
    stage: Stage,
    step: int | None,
    without: frozenset[str],
    shown_as: Stage = Stage.GATE,
) -> tuple[list[Rollout], D]:
    """Ask the candidate place by place until the decision is settled; what could not be measured is tried once more.

    `fresh` makes the decision anew; `without` are the items that were measured without the candidate (what it alone
    makes too long scores 0). Returns the rollouts of the decided prefix and the decision.
    """
    metric = context.metric
    watch = context.watch(stage, step)

    async def one(position: int, certain: bool) -> Rollout:
        item, repeat = places[position]
        priority = GATE_CERTAIN if certain else GATE_SPECULATIVE
        rollout = await run_one(
            context.env, item, candidate, context.target, Call(stage, repeat, priority, context.scoring, watch)
        )
        context.emit(StageProgress(stage=shown_as, step=step, done=position + 1, total=len(places)))
        return charged(rollout, without)

    decision = fresh()
    whole = stage in context.batched("target")  # asked at once, so that they make one batch
    rollouts = await drive(
        decision,
        len(places),
        one,
        lambda r: metric.value(r.outcome),
        width=context.width(stage, len(places)),
        speculation=len(places) if whole else GATE_AHEAD if context.speculate else 0,
    )
    if len(rollouts) == len(places) and any(isinstance(r.outcome, Missing) for r in rollouts):
        lost = [n for n, r in enumerate(rollouts) if isinstance(r.outcome, Missing)]
        again = await gather_all([one(n, True) for n in lost])
        for n, rollout in zip(lost, again, strict=True):
            rollouts[n] = rollout
        decision = fresh()
        for n, rollout in enumerate(rollouts):
            decision.observe(metric.value(rollout.outcome))
            if decision.settled:
                rollouts = rollouts[: n + 1]
                break
    return rollouts, decision
