"""Stages 3 to 5 of a step: changes are merged, cut to the budget and built into candidate skills; a race picks one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial

from skillopt.core.aio import gather_all
from skillopt.core.editing.change import Change, Documents, with_items
from skillopt.core.item import Item
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.stages.build import build, join
from skillopt.engine.stages.context import StepContext
from skillopt.engine.stages.result import Built, Merged, Named, Reflected, Selected
from skillopt.engine.stages.vetoes import dropped_edits
from skillopt.optimizer.aggregate import aggregate
from skillopt.optimizer.autonomous import BatchScore, LrDecision, decide
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.race import Proposal, course, race
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.select import Selection, select
from skillopt.records.events import EditDropped
from skillopt.records.vocabulary import Action, Stage

CLOSENESS_CHARS = 400


async def aggregate_all(reflected: Reflected, ctx: StepContext) -> Merged:
    """Stage 3: each sample's patches become one named change. In the compact profile patches are not merged by the
    model, which a small one does badly: each group's patch stands for itself."""
    changes: list[Named] = []
    total = sum(len(r.patches(k)) for s in reflected.samples for r in s for k in ("failure", "success"))
    with staged(ctx.run, Stage.AGGREGATE, step=ctx.step, epoch=ctx.plan.epoch, total=total) as told:
        for sample, reflections in enumerate(reflected.samples):
            failures = [p for r in reflections for p in r.patches("failure")]
            successes = [p for r in reflections for p in r.patches("success")]
            if ctx.optimizer.settings.profile == "compact":
                changes += [(f"sample {sample} group {n}", p) for n, p in enumerate([*failures, *successes])]
            elif failures or successes:
                merged = await aggregate(failures, successes, ctx.skill, ctx.optimizer)
                changes.append((f"sample {sample}", merged))
        told.count(changes=len(changes))
    return Merged(reflected, tuple(changes))


async def select_all(merged: Merged, ctx: StepContext) -> Selected:
    """Stage 4: each change is cut to at most B items; whole documents have no B."""
    mode, chosen = ctx.optimizer.mode, list[Named]()
    first: Change = mode.empty
    shown: Selection | None = None
    with staged(ctx.run, Stage.SELECT, step=ctx.step, epoch=ctx.plan.epoch, total=len(merged.changes)) as told:
        decision = await _decided_budget(merged, ctx)
        budget = ctx.budget if decision is None else decision.learning_rate
        for name, change in merged.changes:
            selection = await select(change, ctx.skill, ctx.optimizer, budget=budget)
            if not chosen:
                first, shown = change, selection if mode.budgeted else None
            if selection.change.items:
                chosen.append((name, selection.change))
        told.count(merged=sum(len(c.items) for _, c in merged.changes), ranked=sum(len(c.items) for _, c in chosen))
    return Selected(merged.reflected, tuple(chosen), first, shown, budget, decision)


async def _decided_budget(merged: Merged, ctx: StepContext) -> LrDecision | None:
    """In the autonomous mode the optimizer's decision replaces the schedule's budget, for all proposals of the step."""
    score = compute_score(r.outcome for r in merged.reflected.rolled.all)
    changes = [change for _, change in merged.changes]
    wanted = ctx.run.config.optimizer.lr_control_mode == "autonomous" and any(c.items for c in changes)
    if not wanted or ctx.budget is None or score is None:
        return None
    return await decide(
        changes,
        ctx.skill,
        ctx.optimizer,
        batch=BatchScore(score.n, score.hard, score.soft),
        buffer_text=ctx.buffer_text,
        scheduled=ctx.budget,
    )


def with_single_edits(changes: Sequence[Named], wanted: int) -> list[Named]:
    """The changes and, up to `wanted` in all, the first one's top items alone."""
    more: list[Named] = []
    if changes and len(changes[0][1].items) > 1 and not isinstance(changes[0][1], Documents):
        name, first = changes[0]
        alone = [(f"{name} item {n} alone", with_items(first, [item])) for n, item in enumerate(first.items)]
        more = alone[: max(0, wanted - len(changes))]
    return [*changes, *more]


async def update(selected: Selected, ctx: StepContext) -> Built:
    """Stage 5: changes become candidate skills, leaks are taken out, and a race picks the candidate."""
    config, whole = ctx.run.config, len(selected.changes)
    changes = with_single_edits(selected.changes, config.evaluation.gate_candidates)
    with staged(ctx.run, Stage.UPDATE, step=ctx.step, epoch=ctx.plan.epoch, total=len(changes)) as told:
        proposals = await gather_all([build(ctx, name, change) for name, change in changes])
        told.count(proposals=len(proposals))
    # What leaks in an item alone was counted with the change it is taken from; a vetoed rewrite of it (0) was not.
    vetoed = tuple(v for n, p in enumerate(proposals) for v in p.vetoed if n < whole or v.index == 0)
    usable = [p for p in proposals if p.rewrite is None or not p.rewrite.lost]
    distinct = list({p.skill.hash: p for p in reversed(usable) if p.skill != ctx.skill}.values())[::-1]
    built = Built(selected, usable[0] if usable else None, vetoed=vetoed)
    if not distinct:
        reason, action = _why_nothing(built, proposals, ctx)
        built = replace(built, skip_reason=reason, skip_action=action)
    elif config.optimizer.proposals == 1 and len(distinct) == 1:
        built = replace(built, proposal=distinct[0])
    else:
        built = await _raced(replace(built, proposal=None), distinct, ctx)
    shown = built.proposal or next(iter(proposals), None)
    for row in dropped_edits(built):
        ctx.run.emit(EditDropped(step=ctx.step, edit=row))
    return replace(built, rewrite=shown.rewrite if shown else None)


def _why_nothing(built: Built, proposals: Sequence[Proposal], ctx: StepContext) -> tuple[str, Action]:
    """Why no candidate came of the step, and its action: without any usable text a rewriting mode skips under a name
    of its own."""
    mode = update_mode(ctx.run.config.optimizer.skill_update_mode)
    proposed = any(g.reply is not None and g.reply.patch.items for g in built.reflected.groups)
    nothing_usable = mode.suffix and proposed and built.proposal is None
    action = Action.SKIP_NO_REWRITE if nothing_usable else Action.SKIP_NO_PATCHES
    return _nothing_because(built, proposals, ctx, proposed=proposed), action


def _nothing_because(built: Built, proposals: Sequence[Proposal], ctx: StepContext, *, proposed: bool) -> str:
    mode, groups = update_mode(ctx.run.config.optimizer.skill_update_mode), built.reflected.groups
    decided = built.selected.lr_decision
    lost = next((p.rewrite.lost for p in proposals if p.rewrite is not None and p.rewrite.lost), "")
    if lost:
        return lost
    if built.vetoed:
        return f"all {mode.noun}s were vetoed: {built.vetoed[0].leaks[0]}"
    if proposals:
        return "the rewrite left the skill as it was" if mode.suffix else "no edit could be applied"
    if groups and all(g.reply is None for g in groups):
        return f"no analyst reply could be used; the first: {groups[0].lost}"
    if decided is not None and built.selected.budget == 0:
        return f"the optimizer decided to apply none of {decided.available} {mode.noun}s"
    if proposed:
        return f"the analysts proposed {mode.noun}s, but the merged patch held none"
    failures, _ = partition(built.rollouts, ctx.run.env.pass_threshold)
    article = "an" if mode.noun[0] in "aeiou" else "a"
    return (
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


async def _raced(built: Built, proposals: Sequence[Proposal], ctx: StepContext) -> Built:
    """The proposals on the batch's own items; the best of them is the candidate, unless it loses there."""
    context, step = ctx.run, ctx.step
    failures, successes = partition(built.rollouts, context.env.pass_threshold)
    track = course(failures, successes, size=context.config.optimizer.race_items, seed=ctx.plan.batches[0].seed)
    tried: list[Rollout] = []
    vetoed = list(built.vetoed)

    async def attempt(skill: Skill, items: Sequence[Item]) -> list[Rollout]:
        rollouts = await measure(context, skill, items, stage=Stage.RACE, step=step)
        tried.extend(rollouts)
        return rollouts

    joined = partial(join, ctx, built.selected.budget, vetoed)
    with staged(context, Stage.RACE, step=step, epoch=ctx.plan.epoch, total=len(proposals)) as told:
        runners = await race(proposals, track, context.metric.value, closeness(context), attempt, joined)
        told.count(runners=len(runners))
    count_rollouts(ctx.tally, Stage.RACE, tried)
    built = replace(built, runners=tuple(runners), vetoed=tuple(vetoed))
    if runners[0].gain >= 0:  # a few items prove no candidate useless; one that loses on them is not worth a gate
        return replace(built, proposal=runners[0].proposal)
    reason = f"none of {len(runners)} proposals held its own on the batch's items"
    return replace(built, skip_reason=reason)
