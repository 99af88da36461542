"""Stages 3 to 5 of a step: patches are merged, cut to the budget and built into candidate skills; a race picks one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from skillopt.core.edit import Edit, Patch
from skillopt.core.editor import apply_patch
from skillopt.core.item import Item
from skillopt.core.leakage import LeakedEdit, strip_leaks
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.session import Session, count_rollouts
from skillopt.engine.work import StepWork
from skillopt.optimizer.aggregate import aggregate
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.race import Proposal, course, race
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.select import select

CLOSENESS_CHARS = 400


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
