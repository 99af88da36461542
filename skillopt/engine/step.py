"""One training step: rollout → reflect → aggregate → select → update → gate, written down as that line.

A step reads the state and changes nothing: each stage returns its result, and the trainer applies the last one. With
several proposals a race on training items chooses which of them goes to the gate; with one there is nothing to race.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillopt.config.derived import credit_mode
from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Patch
from skillopt.core.errors import StopRun
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.decide import decide
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.batches import StepPlan
from skillopt.engine.measure import PREFETCH, measure
from skillopt.engine.prefetch import Prefetcher
from skillopt.engine.reflection.deep import deep_reflect
from skillopt.engine.reflection.outcome import DeepReflection
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.stages.context import StepContext
from skillopt.engine.stages.credit import credit
from skillopt.engine.stages.propose import aggregate_all, select_all, update
from skillopt.engine.stages.result import Built, Judged, Reflected, Rolled, StepResult, Upcoming
from skillopt.engine.state import TrainState
from skillopt.optimizer import buffer
from skillopt.optimizer.context import Tally
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import Reflection, number_of_groups, reflect
from skillopt.optimizer.schedule import edit_budget
from skillopt.records.events import Emit, Event, ReflectGroup, StageProgress
from skillopt.records.vocabulary import Stage

BUFFER_CHARS = 6_000


async def run_step(
    rule: AcceptanceRule,
    plan: StepPlan,
    state: TrainState,
    context: RunContext,
    *,
    total_steps: int,
    prefetcher: Prefetcher,
    upcoming: Upcoming | None,
) -> StepResult:
    """Do one step. `upcoming` is the next one; it is worked on ahead while optimizer and gate of this one are busy."""
    ctx = step_context(context, plan, state.current.skill, state.buffer, state.memory.meta_skill, total_steps)
    rolled = await rollout(ctx)
    prefetcher.rollouts(upcoming.plan if upcoming else None, upcoming.skill if upcoming else None)
    reflected = await reflect_all(rolled, ctx)
    merged = await aggregate_all(reflected, ctx)
    selected = await select_all(merged, ctx)
    built = await update(selected, ctx)
    prefetch_reflection(prefetcher, upcoming, built)
    judged = await judge(rule, built, state, ctx)
    return StepResult(plan, ctx.skill, ctx.tally, judged)


def step_context(
    context: RunContext,
    plan: StepPlan,
    skill: Skill,
    tried: Sequence[Mapping[str, Any]],
    meta_skill: str,
    total_steps: int,
) -> StepContext:
    """What the stages of a step receive; `tried` is the step buffer."""
    return StepContext(
        context,
        plan,
        skill,
        context.stage_context(Tally(), meta_skill),
        scheduled_budget(context, plan.step, total_steps),
        buffer.render(tried, limit=BUFFER_CHARS),
    )


def prefetch_reflection(prefetcher: Prefetcher, upcoming: Upcoming | None, built: Built) -> None:
    """Let the next step's reflection begin, as it will be if this step's candidate is rejected."""
    if upcoming is None or upcoming.skill is None or not upcoming.predictable or built.proposal is None:
        return
    following, skill, tried = upcoming, upcoming.skill, upcoming.buffer_if_rejected(built)

    async def think(quiet: RunContext) -> None:
        """Rollout to select of the next step, for the journal only."""
        ctx = step_context(quiet, following.plan, skill, tried, following.meta_skill, following.total_steps)
        ctx = replace(ctx, optimizer=replace(ctx.optimizer, priority=PREFETCH))
        rolled = await rollout(ctx)
        reflected = await reflect_all(rolled, ctx)
        await select_all(await aggregate_all(reflected, ctx), ctx)

    prefetcher.reflect_next(think)


def scheduled_budget(context: RunContext, step: int, total_steps: int) -> int | None:
    """The schedule's edit budget B for a step; None = no limit. An autonomous decision may replace it."""
    optimizer = context.config.optimizer
    if optimizer.lr_control_mode == "none" or not update_mode(optimizer.skill_update_mode).budgeted:
        return None
    return edit_budget(optimizer.lr_scheduler, step, total_steps, optimizer.learning_rate, optimizer.min_learning_rate)


async def rollout(ctx: StepContext) -> Rolled:
    """Stage 1: every batch with the same skill."""
    context, step, batches = ctx.run, ctx.step, ctx.plan.batches
    total = sum(len(b.items) for b in batches)
    with staged(context, Stage.ROLLOUT, step=step, epoch=ctx.plan.epoch, total=total) as told:
        done: list[tuple[Rollout, ...]] = []
        for batch in batches:
            before = sum(map(len, done))
            found = await measure(
                context, ctx.skill, batch.items, stage=Stage.ROLLOUT, step=step, before=before, total=total
            )
            done.append(tuple(found))
        rolled = Rolled(tuple(done))
        told.measured(compute_score(r.outcome for r in rolled.all))
    count_rollouts(ctx.tally, Stage.ROLLOUT, rolled.all)
    measured = [r for r in rolled.all if r.scored is not None]
    if not measured:
        raise StopRun(f"step {step}: no training outcome could be measured; {_first_error(rolled.all)}")
    return rolled


def _first_error(rollouts: Sequence[Rollout]) -> str:
    errors = [getattr(r.outcome, "error", "") for r in rollouts]
    return next((f"the first error was: {e}" for e in errors if e), "no error was reported")


async def reflect_all(rolled: Rolled, ctx: StepContext) -> Reflected:
    """Stage 2: one reflection a batch, and as many independent samples of it as proposals are wanted."""
    context, step, samples = ctx.run, ctx.step, ctx.optimizer.settings.proposals
    batches = list(zip(ctx.plan.batches, rolled.batches, strict=True))
    groups = samples * sum(number_of_groups(rollouts, context.env, ctx.optimizer) for _, rollouts in batches)
    counted = replace(ctx.optimizer, emit=_counting(ctx.optimizer.emit, step, groups))
    ordinary = [
        reflect(
            rollouts, ctx.skill, context.env, counted,
            batch_seed=batch.seed, buffer_text=ctx.buffer_text, repeat=k,
        )
        for k in range(samples)
        for batch, rollouts in batches
    ]  # fmt: skip
    deep = [
        deep_reflect(context, ctx.optimizer, batch, rollouts, ctx.skill, step=step, buffer_text=ctx.buffer_text)
        for batch, rollouts in (batches if context.config.gradient.use_deep_reflect else [])
    ]
    done: list[Reflection] = []
    probed: list[DeepReflection] = []

    async def read() -> None:
        done.extend(await gather_all(ordinary))

    async def probe() -> None:
        probed.extend(await gather_all(deep))

    with staged(context, Stage.REFLECT, step=step, epoch=ctx.plan.epoch, total=groups) as told:
        await gather_all([read(), probe()])
        for n, found in enumerate(probed):
            done[:] = [replace(r, deep=found.groups) if at % len(batches) == n else r for at, r in enumerate(done)]
        rows = tuple(tuple(done[k * len(batches) : (k + 1) * len(batches)]) for k in range(samples))
        told.count(patches=sum(len(r.patches(k)) for s in rows for r in s for k in ("failure", "success")))
    return Reflected(rolled, rows, tuple(probed))


def _counting(emit: Emit, step: int, total: int) -> Emit:
    """An `Emit` that tells after each group how many of all have been read."""
    done = itertools.count(1)

    def counted(event: Event, /) -> None:
        emit(event)
        if isinstance(event, ReflectGroup):
            emit(StageProgress(stage=Stage.REFLECT, step=step, done=next(done), total=total))

    return counted


async def judge(rule: AcceptanceRule, built: Built, state: TrainState, ctx: StepContext) -> Judged:
    """Stage 6: credit where it is asked for, and the gate."""
    mode = credit_mode(ctx.run.config)
    if built.proposal is None:
        return Judged(built)
    if mode == "always":
        found = await credit(built, state, ctx)
        if found is None:
            return await gate(rule, built, state, ctx)
        if found.proposal is None:
            edits = "the one edit did not hold" if len(found.rows) == 1 else f"none of {len(found.rows)} edits held"
            why = f"{edits} its own on training items"
            return replace(await gate(rule, built, state, ctx, held_back=why), credit=found)
        return replace(await gate(rule, replace(built, proposal=found.proposal), state, ctx), credit=found)
    judged = await gate(rule, built, state, ctx)
    if mode == "off" or judged.decision is None or judged.decision.verdict.action != "reject":
        return judged
    found = await credit(judged.built, state, ctx)
    if found is None or found.proposal is None or found.proposal == judged.built.proposal:
        return replace(judged, credit=found)
    rest = await gate(rule, replace(built, proposal=found.proposal), state, ctx)
    return replace(rest, credit=found, first=judged.decision)


async def gate(
    rule: AcceptanceRule, built: Built, state: TrainState, ctx: StepContext, *, held_back: str = ""
) -> Judged:
    """The run's rule decides about the candidate; `held_back` says why it does not get so far."""
    proposal = built.proposal
    if proposal is None:
        return Judged(built)
    candidate = Candidate(
        proposal.skill,
        ctx.plan.origin,
        ctx.step,
        edits=proposal.change.edits if isinstance(proposal.change, Patch) else (),
        shown=built.rollouts,
        remark=built.skip_reason,
        held_back=held_back,
    )
    decision = await decide(rule, candidate, state, ctx.run, ctx.tally, epoch=ctx.plan.epoch)
    return Judged(replace(built, proposal=replace(proposal, skill=decision.decided_on)), decision)
