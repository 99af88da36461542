"""One training step: rollout → reflect → aggregate → select → update → gate, written down as that line.

A step reads the standing and changes nothing: it returns what it found, and the trainer applies it. With several
proposals a race on training items chooses which of them goes to the gate; with one there is nothing to race.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.edit import Edit, Patch
from skillopt.core.editor import apply_patch
from skillopt.core.errors import StopRun
from skillopt.core.item import Item
from skillopt.core.leakage import LeakedEdit, strip_leaks
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.ahead import Ahead
from skillopt.engine.batches import StepPlan
from skillopt.engine.measure import PREFETCH, GateResult, gate, measure
from skillopt.engine.session import Session, count_rollouts
from skillopt.engine.standing import Standing
from skillopt.gate.verdict import Action, Evidence, Verdict
from skillopt.optimizer import buffer
from skillopt.optimizer.aggregate import aggregate
from skillopt.optimizer.context import StageContext, Tally
from skillopt.optimizer.race import Proposal, Runner, course, race
from skillopt.optimizer.reflect import Reflection, partition, reflect
from skillopt.optimizer.schedule import edit_budget
from skillopt.optimizer.select import Selection, select

BUFFER_CHARS = 6_000
CLOSENESS_CHARS = 400


@dataclass
class StepWork:
    """Everything one step found, stage by stage; the views and the record are made of it."""

    plan: StepPlan
    skill: Skill
    budget: int | None
    rollouts: list[list[Rollout]] = field(default_factory=list["list[Rollout]"])
    reflections: list[list[Reflection]] = field(default_factory=list["list[Reflection]"])
    """One list a proposal sample, one reflection a batch."""
    merged: Patch = field(default_factory=Patch)
    selection: Selection | None = None
    leaked: list[LeakedEdit] = field(default_factory=list[LeakedEdit])
    runners: list[Runner] = field(default_factory=list[Runner])
    proposal: Proposal | None = None
    gated: GateResult | None = None
    skip_reason: str = ""
    tally: Tally = field(default_factory=Tally)

    @property
    def all_rollouts(self) -> list[Rollout]:
        """The rollouts of all accumulated batches."""
        return [r for batch in self.rollouts for r in batch]

    @property
    def action(self) -> str:
        """The record's action: the gate's verdict, or the skip."""
        return self.gated.verdict.action if self.gated else "skip_no_patches"


@dataclass(frozen=True)
class Upcoming:
    """The step after this one: its plan, its schedule's total, and the buffer it will see if this one is rejected."""

    plan: StepPlan
    total_steps: int
    buffer_if_rejected: Callable[[StepWork], list[dict[str, Any]]]


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
    ctx = session.stage_context(work.tally)

    await rollout(session, work)
    ahead.rollouts(upcoming.plan if upcoming else None, skill)
    await reflect_all(session, work, ctx, buffer.render(standing.buffer, limit=BUFFER_CHARS))
    proposals = await propose(session, work, ctx)
    await choose(session, work, proposals)
    if upcoming is not None and work.proposal is not None:
        following, text = upcoming, buffer.render(upcoming.buffer_if_rejected(work), limit=BUFFER_CHARS)
        ahead.thoughts(lambda quiet: think(quiet, following, skill, text))
    await evaluate(session, work, standing)
    return work


async def think(session: Session, upcoming: Upcoming, skill: Skill, buffer_text: str) -> None:
    """Rollout to select of a step, for the journal only."""
    work = StepWork(upcoming.plan, skill, scheduled_budget(session, upcoming.plan.step, upcoming.total_steps))
    ctx = replace(session.stage_context(work.tally), priority=PREFETCH)
    await rollout(session, work)
    await reflect_all(session, work, ctx, buffer_text)
    await propose(session, work, ctx)


def scheduled_budget(session: Session, step: int, total_steps: int) -> int | None:
    """The step's edit budget B; None = no limit."""
    optimizer = session.config.optimizer
    if optimizer.lr_control_mode == "none":
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


async def reflect_all(session: Session, work: StepWork, ctx: StageContext, buffer_text: str) -> None:
    """Stage 2: one reflection a batch, and as many independent samples of it as proposals are wanted."""
    step = work.plan.step
    session.emit("stage.start", stage="reflect", step=step, epoch=work.plan.epoch, total=ctx.settings.proposals)
    with session.timings.measure(step, "reflect"):
        batches = list(zip(work.plan.batches, work.rollouts, strict=True))
        samples = range(ctx.settings.proposals)
        done = await gather_all(
            [
                reflect(
                    rollouts, work.skill, session.env, ctx, batch_seed=batch.seed, buffer_text=buffer_text, repeat=k
                )
                for k in samples
                for batch, rollouts in batches
            ]
        )
        work.reflections = [done[k * len(batches) : (k + 1) * len(batches)] for k in samples]
    patches = sum(len(r.patches(k)) for s in work.reflections for r in s for k in ("failure", "success"))
    session.emit("stage.end", stage="reflect", step=step, patches=patches)


async def propose(session: Session, work: StepWork, ctx: StageContext) -> list[tuple[str, Patch]]:
    """Stages 3 and 4: each sample's patches become one named patch of at most B edits.

    In the compact profile patches are not merged by the model, which a small one does badly: each group's patch stands
    for itself.
    """
    step, proposals = work.plan.step, list[tuple[str, Patch]]()
    with session.timings.measure(step, "aggregate"):
        for sample, reflections in enumerate(work.reflections):
            failures = [p for r in reflections for p in r.patches("failure")]
            successes = [p for r in reflections for p in r.patches("success")]
            if ctx.settings.profile == "compact":
                proposals += [(f"sample {sample} group {n}", p) for n, p in enumerate([*failures, *successes])]
            elif failures or successes:
                session.emit("stage.start", stage="aggregate", step=step, total=len(failures) + len(successes))
                proposals.append((f"sample {sample}", await aggregate(failures, successes, work.skill, ctx)))
    chosen: list[tuple[str, Patch]] = []
    with session.timings.measure(step, "select"):
        for name, patch in proposals:
            selection = await select(patch, work.skill, ctx, budget=work.budget)
            if not chosen:
                work.merged, work.selection = patch, selection
            if selection.patch.edits:
                chosen.append((name, selection.patch))
    session.emit("stage.end", stage="select", step=step, merged=sum(len(p.edits) for _, p in proposals),
                 ranked=sum(len(p.edits) for _, p in chosen), budget=work.budget)  # fmt: skip
    return chosen


async def choose(session: Session, work: StepWork, patches: Sequence[tuple[str, Patch]]) -> None:
    """Stage 5: patches become candidate skills, leaks are taken out, and a race picks the candidate."""
    step = work.plan.step
    with session.timings.measure(step, "update"):
        proposals = [build(session, work, name, patch) for name, patch in patches]
    distinct = list({p.skill.hash: p for p in reversed(proposals) if p.skill != work.skill}.values())[::-1]
    if not distinct:
        work.proposal = proposals[0] if proposals else None
        work.skip_reason = _why_nothing(work, patches, session.env.pass_threshold)
    elif session.config.optimizer.proposals == 1 and len(distinct) == 1:
        work.proposal = distinct[0]
    else:
        await _race(session, work, distinct)
    if work.proposal is not None:
        session.emit("stage.end", stage="update", step=step, before=len(work.skill.text),
                     after=len(work.proposal.skill.text), **work.proposal.report.summary())  # fmt: skip


def _why_nothing(work: StepWork, patches: Sequence[tuple[str, Patch]], pass_threshold: float) -> str:
    if work.leaked:
        return f"all edits were vetoed: {work.leaked[0].leaks[0]}"
    if patches:
        return "no edit could be applied"
    groups = [g for sample in work.reflections for r in sample for g in r.groups]
    if groups and all(g.reply is None for g in groups):
        return f"no analyst reply could be used; the first: {groups[0].lost}"
    if any(g.reply is not None and g.reply.patch.edits for g in groups):
        return "the analysts proposed edits, but the merged patch held none"
    failures, _ = partition(work.all_rollouts, pass_threshold)
    return "no analyst proposed an edit" if failures else "every task of the batch was solved; nothing to learn from"


def build(session: Session, work: StepWork, name: str, patch: Patch) -> Proposal:
    """Apply a patch, without its leaking edits; the rest of the skill stays as it is."""
    optimizer = session.config.optimizer
    if optimizer.leakage != "off":
        kept, leaked = strip_leaks(work.skill, patch, session.leaks, allowed=session.initial.text)
        work.leaked += leaked
        patch = Patch(reasoning=patch.reasoning) if leaked and optimizer.leakage == "refuse" else kept
    skill, report = apply_patch(work.skill, patch, insert_after_fallback=optimizer.insert_after_fallback)
    if optimizer.leakage != "off" and len(patch.edits) > 1:
        # Pieces that are harmless alone may spell an answer together.
        together = session.leaks.find(skill.text, allowed=f"{session.initial.text}\n\n{work.skill.text}")
        if together:
            work.leaked.append(LeakedEdit(0, Edit("all edits together"), tuple(together)))
            patch = Patch(reasoning=patch.reasoning)
            skill, report = apply_patch(work.skill, patch)
    return Proposal(name, patch, skill, report)


def closeness(session: Session) -> Callable[[Rollout], float]:
    """How near an answer is to its nearest gold, 0 to 1: a gradient where the scorer knows only right and wrong."""

    def near(rollout: Rollout) -> float:
        if rollout.scored is None:
            return 0.0
        said = rollout.scored.predicted[:CLOSENESS_CHARS]
        golds = (g[:CLOSENESS_CHARS] for g in session.env.golds(rollout.item))
        return max((SequenceMatcher(None, said, g, autojunk=False).ratio() for g in golds), default=0.0)

    return near


async def _race(session: Session, work: StepWork, proposals: Sequence[Proposal]) -> None:
    step = work.plan.step
    failures, successes = partition(work.all_rollouts, session.env.pass_threshold)
    track = course(failures, successes, size=session.config.optimizer.race_items, seed=work.plan.batches[0].seed)
    session.emit("stage.start", stage="race", step=step, epoch=work.plan.epoch, total=len(proposals))
    tried: list[Rollout] = []

    async def attempt(skill: Skill, items: Sequence[Item]) -> list[Rollout]:
        rollouts = await measure(session, skill, items, stage="race", step=step)
        tried.extend(rollouts)
        return rollouts

    with session.timings.measure(step, "race"):
        work.runners = await race(
            proposals,
            track,
            session.metric.value,
            closeness(session),
            attempt,
            lambda patch: build(session, work, "joined", patch),
        )
    count_rollouts(work.tally, "race", tried)
    best = work.runners[0]
    if best.gain >= 0:  # a few items prove no candidate useless; one that loses on them is not worth a gate
        work.proposal = best.proposal
    else:
        work.skip_reason = f"none of {len(work.runners)} proposals held its own on the batch's items"
    session.emit("stage.end", stage="race", step=step, runners=[r.to_json() for r in work.runners])


async def evaluate(session: Session, work: StepWork, standing: Standing) -> None:
    """Stage 6: the gate. A candidate equal to the current skill is a tie, and ties reject without a call."""
    step, proposal = work.plan.step, work.proposal
    if proposal is None:
        return
    session.emit("stage.start", stage="evaluate", step=step, epoch=work.plan.epoch, total=len(session.selection))
    with session.timings.measure(step, "evaluate"):
        if proposal.skill == work.skill:
            total = len(standing.current.rollouts)
            action: Action = "reject" if session.config.evaluation.use_gate else "force_accept"
            reason = work.skip_reason or "nothing changed"
            verdict = Verdict(action, standing.current.gate_score, Evidence(total=total), reason)
            work.gated = GateResult(verdict, (), standing.current)
        else:
            work.gated = await gate(session, proposal.skill, standing, step=step)
            count_rollouts(work.tally, "gate", work.gated.rollouts)
    verdict = work.gated.verdict
    session.emit("gate.verdict", step=step, current_score=standing.current.gate_score,
                 best_score=standing.best.gate_score, **verdict.to_json())  # fmt: skip
