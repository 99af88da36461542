"""One training step: rollout → reflect → aggregate → select → update → gate, written down as that line.

A step reads the state and changes nothing: it returns what it found, and the trainer applies it. With several
proposals a race on training items chooses which of them goes to the gate; with one there is nothing to race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.aio import gather_all
from skillopt.core.edit import Patch
from skillopt.core.errors import StopRun
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.decide import count_gate, gate
from skillopt.engine.batches import StepPlan
from skillopt.engine.credit import credit, credit_mode
from skillopt.engine.measure import PREFETCH, measure
from skillopt.engine.prefetch import Prefetcher
from skillopt.engine.propose import choose, propose
from skillopt.engine.reflection.deep import deep_reflect
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import GateResult, TrainState
from skillopt.engine.step_result import StepWork, Upcoming
from skillopt.gate.verdict import Action, Evidence, Verdict
from skillopt.optimizer import buffer
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import Reflection, reflect
from skillopt.optimizer.schedule import edit_budget

BUFFER_CHARS = 6_000


async def run_step(
    context: RunContext,
    plan: StepPlan,
    state: TrainState,
    *,
    total_steps: int,
    prefetcher: Prefetcher,
    upcoming: Upcoming | None,
) -> StepWork:
    """Do one step. `upcoming` is the next one; it is worked on ahead while optimizer and gate of this one are busy."""
    skill = state.current.skill
    work = StepWork(plan, skill, scheduled_budget(context, plan.step, total_steps))
    work.buffer_text = buffer.render(state.buffer, limit=BUFFER_CHARS)
    ctx = context.stage_context(work.tally, state.memory.meta_skill)

    await rollout(context, work)
    next_skill = upcoming.skill if upcoming else None
    prefetcher.rollouts(upcoming.plan if upcoming else None, next_skill)
    await reflect_all(context, work, ctx)
    proposals = await propose(context, work, ctx)
    await choose(context, work, ctx, proposals)
    if upcoming is not None and next_skill is not None and upcoming.predictable and work.proposal is not None:
        following, text = upcoming, buffer.render(upcoming.buffer_if_rejected(work), limit=BUFFER_CHARS)
        prefetcher.reflect_next(lambda quiet: think(quiet, following, next_skill, text))
    if credit_mode(context) == "always":
        await take_credit(context, work, ctx, state)
    await evaluate(context, work, state)
    if credit_mode(context) == "rejected" and work.action == "reject":
        whole = work.gated
        if await take_credit(context, work, ctx, state):
            work.first_gated = whole
            await evaluate(context, work, state)
    return work


async def take_credit(context: RunContext, work: StepWork, ctx: StageContext, state: TrainState) -> bool:
    """Let only the edits that hold their own alone go on. True when that leaves another candidate than before."""
    work.credit = await credit(context, work, ctx, state)
    if work.credit is None:
        return False
    before, work.proposal = work.proposal, work.credit.proposal or work.proposal
    if work.credit.proposal is None:
        work.held_back = f"none of {len(work.credit.rows)} edits held its own on training items"
    return work.credit.proposal is not None and work.proposal != before


async def think(context: RunContext, upcoming: Upcoming, skill: Skill, buffer_text: str) -> None:
    """Rollout to select of a step, for the journal only."""
    work = StepWork(upcoming.plan, skill, scheduled_budget(context, upcoming.plan.step, upcoming.total_steps))
    work.buffer_text = buffer_text
    ctx = replace(context.stage_context(work.tally, upcoming.meta_skill), priority=PREFETCH)
    await rollout(context, work)
    await reflect_all(context, work, ctx)
    await propose(context, work, ctx)


def scheduled_budget(context: RunContext, step: int, total_steps: int) -> int | None:
    """The schedule's edit budget B for a step; None = no limit. An autonomous decision may replace it."""
    optimizer = context.config.optimizer
    if optimizer.lr_control_mode == "none" or not update_mode(optimizer.skill_update_mode).budgeted:
        return None
    return edit_budget(optimizer.lr_scheduler, step, total_steps, optimizer.learning_rate, optimizer.min_learning_rate)


async def rollout(context: RunContext, work: StepWork) -> None:
    """Stage 1: every batch with the same skill."""
    step = work.plan.step
    total = sum(len(b.items) for b in work.plan.batches)
    context.emit("stage.start", stage="rollout", step=step, epoch=work.plan.epoch, total=total)
    with context.timings.measure(step, "rollout"):
        for batch in work.plan.batches:
            work.rollouts.append(await measure(context, work.skill, batch.items, stage="rollout", step=step))
    count_rollouts(work.tally, "rollout", work.all_rollouts)
    measured = [r for r in work.all_rollouts if r.scored is not None]
    if not measured:
        raise StopRun(f"step {step}: no training outcome could be measured; {_first_error(work.all_rollouts)}")
    context.emit("stage.end", stage="rollout", step=step, scored=len(measured), total=total,
                 hard=sum(r.scored.hard for r in measured if r.scored) / len(measured))  # fmt: skip


def _first_error(rollouts: Sequence[Rollout]) -> str:
    errors = [getattr(r.outcome, "error", "") for r in rollouts]
    return next((f"the first error was: {e}" for e in errors if e), "no error was reported")


async def reflect_all(context: RunContext, work: StepWork, ctx: StageContext) -> None:
    """Stage 2: one reflection a batch, and as many independent samples of it as proposals are wanted."""
    step = work.plan.step
    context.emit("stage.start", stage="reflect", step=step, epoch=work.plan.epoch, total=ctx.settings.proposals)
    with context.timings.measure(step, "reflect"):
        batches = list(zip(work.plan.batches, work.rollouts, strict=True))
        samples = range(ctx.settings.proposals)
        ordinary = [
            reflect(
                rollouts, work.skill, context.env, ctx, batch_seed=batch.seed, buffer_text=work.buffer_text, repeat=k
            )
            for k in samples
            for batch, rollouts in batches
        ]
        deep = [
            deep_reflect(context, ctx, batch, rollouts, work.skill, step=step, buffer_text=work.buffer_text)
            for batch, rollouts in (batches if context.config.gradient.use_deep_reflect else [])
        ]
        done: list[Reflection] = []

        async def read() -> None:
            done.extend(await gather_all(ordinary))

        async def probe() -> None:
            work.deep += await gather_all(deep)

        await gather_all([read(), probe()])
        for n, found in enumerate(work.deep):
            done[:] = [replace(r, deep=found.groups) if at % len(batches) == n else r for at, r in enumerate(done)]
        work.reflections = [done[k * len(batches) : (k + 1) * len(batches)] for k in samples]
    patches = sum(len(r.patches(k)) for s in work.reflections for r in s for k in ("failure", "success"))
    context.emit("stage.end", stage="reflect", step=step, patches=patches)


async def evaluate(context: RunContext, work: StepWork, state: TrainState) -> None:
    """Stage 6: the gate. A candidate equal to the current skill is a tie, and ties reject without a call."""
    step, proposal = work.plan.step, work.proposal
    if proposal is None:
        return
    context.emit("stage.start", stage="evaluate", step=step, epoch=work.plan.epoch, total=len(context.selection))
    with context.timings.measure(step, "evaluate"):
        if proposal.skill == work.skill or work.held_back:
            total = len(state.current.rollouts)
            action: Action = "reject" if context.config.evaluation.use_gate else "force_accept"
            reason = work.held_back or work.skip_reason or "nothing changed"
            score = None if work.held_back else state.current.gate_score
            verdict = Verdict(action, score, Evidence(total=total), reason)
            work.gated = GateResult(verdict, (), None if work.held_back else state.current)
        else:
            edits = proposal.change.edits if isinstance(proposal.change, Patch) else ()
            shown = work.all_rollouts
            work.gated = await gate(context, proposal.skill, state, step=step, shown=shown, edits=edits)
            if work.gated.draft is not None:
                work.proposal = replace(proposal, skill=work.gated.draft)
            count_gate(work.tally, work.gated)
    verdict = work.gated.verdict
    context.emit("gate.verdict", step=step, current_score=state.current.gate_score,
                 best_score=state.best.gate_score, **verdict.to_json())  # fmt: skip
