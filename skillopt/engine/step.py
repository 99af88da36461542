"""One training step: rollout → reflect → aggregate → select → update → gate, written down as that line.

A step reads the standing and changes nothing: it returns what it found, and the trainer applies it. With several
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
from skillopt.engine.prefetch import Ahead
from skillopt.engine.propose import choose, propose
from skillopt.engine.reflection.deep import deep_reflect
from skillopt.engine.run.context import Session, count_rollouts
from skillopt.engine.state import GateResult, Standing
from skillopt.engine.step_result import StepWork, Upcoming
from skillopt.gate.verdict import Action, Evidence, Verdict
from skillopt.optimizer import buffer
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import Reflection, reflect
from skillopt.optimizer.schedule import edit_budget

BUFFER_CHARS = 6_000


async def run_step(
    session: Session,
    plan: StepPlan,
    standing: Standing,
    *,
    total_steps: int,
    ahead: Ahead,
    upcoming: Upcoming | None,
) -> StepWork:
    """Do one step. `upcoming` is the next one; it is worked on ahead while optimizer and gate of this one are busy."""
    skill = standing.current.skill
    work = StepWork(plan, skill, scheduled_budget(session, plan.step, total_steps))
    work.buffer_text = buffer.render(standing.buffer, limit=BUFFER_CHARS)
    ctx = session.stage_context(work.tally, standing.memory.meta_skill)

    await rollout(session, work)
    next_skill = upcoming.skill if upcoming else None
    ahead.rollouts(upcoming.plan if upcoming else None, next_skill)
    await reflect_all(session, work, ctx)
    proposals = await propose(session, work, ctx)
    await choose(session, work, ctx, proposals)
    if upcoming is not None and next_skill is not None and upcoming.foreseen and work.proposal is not None:
        following, text = upcoming, buffer.render(upcoming.buffer_if_rejected(work), limit=BUFFER_CHARS)
        ahead.thoughts(lambda quiet: think(quiet, following, next_skill, text))
    if credit_mode(session) == "always":
        await take_credit(session, work, ctx, standing)
    await evaluate(session, work, standing)
    if credit_mode(session) == "rejected" and work.action == "reject":
        whole = work.gated
        if await take_credit(session, work, ctx, standing):
            work.first_gated = whole
            await evaluate(session, work, standing)
    return work


async def take_credit(session: Session, work: StepWork, ctx: StageContext, standing: Standing) -> bool:
    """Let only the edits that hold their own alone go on. True when that leaves another candidate than before."""
    work.credit = await credit(session, work, ctx, standing)
    if work.credit is None:
        return False
    before, work.proposal = work.proposal, work.credit.proposal or work.proposal
    if work.credit.proposal is None:
        work.held_back = f"none of {len(work.credit.rows)} edits held its own on training items"
    return work.credit.proposal is not None and work.proposal != before


async def think(session: Session, upcoming: Upcoming, skill: Skill, buffer_text: str) -> None:
    """Rollout to select of a step, for the journal only."""
    work = StepWork(upcoming.plan, skill, scheduled_budget(session, upcoming.plan.step, upcoming.total_steps))
    work.buffer_text = buffer_text
    ctx = replace(session.stage_context(work.tally, upcoming.meta_skill), priority=PREFETCH)
    await rollout(session, work)
    await reflect_all(session, work, ctx)
    await propose(session, work, ctx)


def scheduled_budget(session: Session, step: int, total_steps: int) -> int | None:
    """The schedule's edit budget B for a step; None = no limit. An autonomous decision may replace it."""
    optimizer = session.config.optimizer
    if optimizer.lr_control_mode == "none" or not update_mode(optimizer.skill_update_mode).budgeted:
        return None
    return edit_budget(optimizer.lr_scheduler, step, total_steps, optimizer.learning_rate, optimizer.min_learning_rate)


async def rollout(session: Session, work: StepWork) -> None:
    """Stage 1: every batch with the same skill."""
    step = work.plan.step
    total = sum(len(b.items) for b in work.plan.batches)
    session.emit("stage.start", stage="rollout", step=step, epoch=work.plan.epoch, total=total)
    with session.timings.measure(step, "rollout"):
        for batch in work.plan.batches:
            work.rollouts.append(await measure(session, work.skill, batch.items, stage="rollout", step=step))
    count_rollouts(work.tally, "rollout", work.all_rollouts)
    measured = [r for r in work.all_rollouts if r.scored is not None]
    if not measured:
        raise StopRun(f"step {step}: no training outcome could be measured; {_first_error(work.all_rollouts)}")
    session.emit("stage.end", stage="rollout", step=step, scored=len(measured), total=total,
                 hard=sum(r.scored.hard for r in measured if r.scored) / len(measured))  # fmt: skip


def _first_error(rollouts: Sequence[Rollout]) -> str:
    errors = [getattr(r.outcome, "error", "") for r in rollouts]
    return next((f"the first error was: {e}" for e in errors if e), "no error was reported")


async def reflect_all(session: Session, work: StepWork, ctx: StageContext) -> None:
    """Stage 2: one reflection a batch, and as many independent samples of it as proposals are wanted."""
    step = work.plan.step
    session.emit("stage.start", stage="reflect", step=step, epoch=work.plan.epoch, total=ctx.settings.proposals)
    with session.timings.measure(step, "reflect"):
        batches = list(zip(work.plan.batches, work.rollouts, strict=True))
        samples = range(ctx.settings.proposals)
        ordinary = [
            reflect(
                rollouts, work.skill, session.env, ctx, batch_seed=batch.seed, buffer_text=work.buffer_text, repeat=k
            )
            for k in samples
            for batch, rollouts in batches
        ]
        deep = [
            deep_reflect(session, ctx, batch, rollouts, work.skill, step=step, buffer_text=work.buffer_text)
            for batch, rollouts in (batches if session.config.gradient.use_deep_reflect else [])
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
    session.emit("stage.end", stage="reflect", step=step, patches=patches)


async def evaluate(session: Session, work: StepWork, standing: Standing) -> None:
    """Stage 6: the gate. A candidate equal to the current skill is a tie, and ties reject without a call."""
    step, proposal = work.plan.step, work.proposal
    if proposal is None:
        return
    session.emit("stage.start", stage="evaluate", step=step, epoch=work.plan.epoch, total=len(session.selection))
    with session.timings.measure(step, "evaluate"):
        if proposal.skill == work.skill or work.held_back:
            total = len(standing.current.rollouts)
            action: Action = "reject" if session.config.evaluation.use_gate else "force_accept"
            reason = work.held_back or work.skip_reason or "nothing changed"
            score = None if work.held_back else standing.current.gate_score
            verdict = Verdict(action, score, Evidence(total=total), reason)
            work.gated = GateResult(verdict, (), None if work.held_back else standing.current)
        else:
            edits = proposal.change.edits if isinstance(proposal.change, Patch) else ()
            shown = work.all_rollouts
            work.gated = await gate(session, proposal.skill, standing, step=step, shown=shown, edits=edits)
            if work.gated.draft is not None:
                work.proposal = replace(proposal, skill=work.gated.draft)
            count_gate(work.tally, work.gated)
    verdict = work.gated.verdict
    session.emit("gate.verdict", step=step, current_score=standing.current.gate_score,
                 best_score=standing.best.gate_score, **verdict.to_json())  # fmt: skip
