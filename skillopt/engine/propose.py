"""Stages 3 to 5 of a step: changes are merged, cut to the budget and built into candidate skills; a race picks one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import partial

from skillopt.core.aio import gather_all
from skillopt.core.change import Change, Documents, with_items
from skillopt.core.item import Item
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.build import build, join
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.step_result import StepWork
from skillopt.optimizer.aggregate import aggregate
from skillopt.optimizer.autonomous import BatchScore, decide
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.race import Proposal, course, race
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.select import select

CLOSENESS_CHARS = 400


async def propose(context: RunContext, work: StepWork, ctx: StageContext) -> list[tuple[str, Change]]:
    """Stages 3 and 4: each sample's patches become one named change of at most B items; whole documents have no B."""
    step = work.plan.step
    work.merged = ctx.mode.empty
    with context.timings.measure(step, "aggregate"):
        proposals = await _aggregated(context, work, ctx)
    chosen: list[tuple[str, Change]] = []
    with context.timings.measure(step, "select"):
        await _decide_budget(context, work, ctx, [change for _, change in proposals])
        for name, change in proposals:
            selection = await select(change, work.skill, ctx, budget=work.budget)
            if not chosen:
                work.merged, work.selection = change, selection if ctx.mode.budgeted else None
            if selection.change.items:
                chosen.append((name, selection.change))
    context.emit("stage.end", stage="select", step=step, merged=sum(len(c.items) for _, c in proposals),
                 ranked=sum(len(c.items) for _, c in chosen), budget=work.budget)  # fmt: skip
    return chosen


async def _aggregated(context: RunContext, work: StepWork, ctx: StageContext) -> list[tuple[str, Change]]:
    """One change a sample. In the compact profile patches are not merged by the model, which a small one does badly:
    each group's patch stands for itself."""
    step, proposals = work.plan.step, list[tuple[str, Change]]()
    for sample, reflections in enumerate(work.reflections):
        failures = [p for r in reflections for p in r.patches("failure")]
        successes = [p for r in reflections for p in r.patches("success")]
        if ctx.settings.profile == "compact":
            proposals += [(f"sample {sample} group {n}", p) for n, p in enumerate([*failures, *successes])]
        elif failures or successes:
            context.emit("stage.start", stage="aggregate", step=step, total=len(failures) + len(successes))
            proposals.append((f"sample {sample}", await aggregate(failures, successes, work.skill, ctx)))
    return proposals


async def _decide_budget(context: RunContext, work: StepWork, ctx: StageContext, changes: Sequence[Change]) -> None:
    """In the autonomous mode the optimizer's decision replaces the schedule's budget, for all proposals of the step."""
    score = compute_score(r.outcome for r in work.all_rollouts)
    wanted = context.config.optimizer.lr_control_mode == "autonomous" and any(c.items for c in changes)
    if not wanted or work.budget is None or score is None:
        return
    work.lr_decision = await decide(
        changes,
        work.skill,
        ctx,
        batch=BatchScore(score.n, score.hard, score.soft),
        buffer_text=work.buffer_text,
        scheduled=work.budget,
    )
    work.budget = work.lr_decision.learning_rate


def with_single_edits(changes: Sequence[tuple[str, Change]], wanted: int) -> list[tuple[str, Change]]:
    """The changes and, up to `wanted` in all, the first one's top items alone."""
    more: list[tuple[str, Change]] = []
    if changes and len(changes[0][1].items) > 1 and not isinstance(changes[0][1], Documents):
        name, first = changes[0]
        alone = [(f"{name} item {n} alone", with_items(first, [item])) for n, item in enumerate(first.items)]
        more = alone[: max(0, wanted - len(changes))]
    return [*changes, *more]


async def choose(context: RunContext, work: StepWork, ctx: StageContext, changes: Sequence[tuple[str, Change]]) -> None:
    """Stage 5: changes become candidate skills, leaks are taken out, and a race picks the candidate."""
    step, whole = work.plan.step, len(changes)
    changes = with_single_edits(changes, context.config.evaluation.gate_candidates)
    with context.timings.measure(step, "update"):
        proposals = await gather_all([build(context, work, ctx, name, change) for name, change in changes])
    # What leaks in an item alone was counted with the change it is taken from; a vetoed rewrite of it (0) was not.
    work.vetoed += [leak for n, p in enumerate(proposals) for leak in p.vetoed if n < whole or leak.index == 0]
    usable = [p for p in proposals if p.rewrite is None or not p.rewrite.lost]
    distinct = list({p.skill.hash: p for p in reversed(usable) if p.skill != work.skill}.values())[::-1]
    if not distinct:
        work.proposal = usable[0] if usable else None
        _say_why_nothing(context, work, proposals)
    elif context.config.optimizer.proposals == 1 and len(distinct) == 1:
        work.proposal = distinct[0]
    else:
        await _race(context, work, ctx, distinct)
    shown = work.proposal or next(iter(proposals), None)
    work.rewrite = shown.rewrite if shown else None
    if work.proposal is not None:
        context.emit("stage.end", stage="update", step=step, before=len(work.skill.text),
                     after=len(work.proposal.skill.text), **work.proposal.report.summary())  # fmt: skip


def _say_why_nothing(context: RunContext, work: StepWork, proposals: Sequence[Proposal]) -> None:
    """Why no candidate came of the step. Without any usable text a rewriting mode skips under a name of its own."""
    mode = update_mode(context.config.optimizer.skill_update_mode)
    groups = [g for sample in work.reflections for r in sample for g in r.groups]
    proposed = any(g.reply is not None and g.reply.patch.items for g in groups)
    if mode.suffix and proposed and work.proposal is None:
        work.skip_action = "skip_no_rewrite"
    lost = next((p.rewrite.lost for p in proposals if p.rewrite is not None and p.rewrite.lost), "")
    if lost:
        work.skip_reason = lost
    elif work.vetoed:
        work.skip_reason = f"all {mode.noun}s were vetoed: {work.vetoed[0].leaks[0]}"
    elif proposals:
        work.skip_reason = "the rewrite left the skill as it was" if mode.suffix else "no edit could be applied"
    elif groups and all(g.reply is None for g in groups):
        work.skip_reason = f"no analyst reply could be used; the first: {groups[0].lost}"
    elif work.lr_decision is not None and work.budget == 0:
        work.skip_reason = f"the optimizer decided to apply none of {work.lr_decision.available} {mode.noun}s"
    elif proposed:
        work.skip_reason = f"the analysts proposed {mode.noun}s, but the merged patch held none"
    else:
        failures, _ = partition(work.all_rollouts, context.env.pass_threshold)
        article = "an" if mode.noun[0] in "aeiou" else "a"
        work.skip_reason = (
            f"no analyst proposed {article} {mode.noun}"
            if failures
            else "every task of the batch was solved; nothing to learn from"
        )


def closeness(context: RunContext) -> Callable[[Rollout], float]:
    """How near an answer is to its nearest gold, 0 to 1: a gradient where the scorer knows only right and wrong."""

    def near(rollout: Rollout) -> float:
        if rollout.scored is None:
            return 0.0
        said = rollout.scored.predicted[:CLOSENESS_CHARS]
        golds = (g[:CLOSENESS_CHARS] for g in context.env.golds(rollout.item))
        return max((SequenceMatcher(None, said, g, autojunk=False).ratio() for g in golds), default=0.0)

    return near


async def _race(context: RunContext, work: StepWork, ctx: StageContext, proposals: Sequence[Proposal]) -> None:
    step = work.plan.step
    failures, successes = partition(work.all_rollouts, context.env.pass_threshold)
    track = course(failures, successes, size=context.config.optimizer.race_items, seed=work.plan.batches[0].seed)
    context.emit("stage.start", stage="race", step=step, epoch=work.plan.epoch, total=len(proposals))
    tried: list[Rollout] = []

    async def attempt(skill: Skill, items: Sequence[Item]) -> list[Rollout]:
        rollouts = await measure(context, skill, items, stage="race", step=step)
        tried.extend(rollouts)
        return rollouts

    with context.timings.measure(step, "race"):
        work.runners = await race(
            proposals, track, context.metric.value, closeness(context), attempt, partial(join, context, work, ctx)
        )
    count_rollouts(work.tally, "race", tried)
    best = work.runners[0]
    if best.gain >= 0:  # a few items prove no candidate useless; one that loses on them is not worth a gate
        work.proposal = best.proposal
    else:
        work.skip_reason = f"none of {len(work.runners)} proposals held its own on the batch's items"
    context.emit("stage.end", stage="race", step=step, runners=[r.to_json() for r in work.runners])
