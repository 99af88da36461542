"""Asking the optimizer: failed attempts in, vetted proposals out.

Before an edit may join the pool it passes what every edit of a run passes: it must not copy items or answers
(`optimizer.leakage`), must not break the skill's form (`optimizer.lint_veto`), and must be applicable, to the initial
skill or to a line that another edit brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.aio import gather_all
from skillopt.core.editing.change import Change
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.leakage import VetoedEdit, strip_leaks
from skillopt.core.rollout import Rollout
from skillopt.engine.factorial.belief import described, differences, without_belief
from skillopt.engine.factorial.rounds import Texts
from skillopt.engine.run.context import RunContext
from skillopt.optimizer.context import Tally
from skillopt.optimizer.factorial.analyst import Shown, ask
from skillopt.optimizer.factorial.compose import unusable
from skillopt.optimizer.factorial.pool import Proposal
from skillopt.optimizer.factorial.search import Ask, Search
from skillopt.optimizer.reflect import Group, reflect
from skillopt.optimizer.veto import without_faults


@dataclass(frozen=True)
class Answered:
    """What the calls of one round came to."""

    groups: tuple[Group, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    vetoed: tuple[VetoedEdit, ...] = ()
    unusable: tuple[tuple[Edit, str], ...] = ()


async def answer(
    context: RunContext,
    search: Search,
    texts: Texts,
    asks: Sequence[Ask],
    failed: Mapping[tuple[str, int], Rollout],
    tally: Tally,
    *,
    seed: int,
) -> Answered:
    """Make the calls side by side. `failed` are the rollouts by item and draw. Raises `StopRun`, also when every call
    of the round failed."""
    edits = {f.number: f.edit for f in search.pool.factors}
    prompts = [_shown(search, texts, edits, one, failed) for one in asks]
    ctx = context.stage_context(tally)

    async def call(shown: Shown) -> tuple[Group, list[Proposal]]:
        try:
            if ctx.settings.profile == "compact":
                return await _compact(context, shown, tally, seed)
            return await ask(shown, context.env, ctx, lines=len(edits))
        except StopRun:
            raise
        except ModelError as error:
            tally.dropped += 1
            ids = tuple(r.item.id for r in shown.failures)
            return Group("failure", shown.number, ids, None, f"call failed: {error}"), []

    done = await gather_all([call(shown) for shown in prompts])
    if done and all(group.lost.startswith("call failed") for group, _ in done):
        raise StopRun(f"no analyst call of this round succeeded; the first said: {done[0][0].lost}")
    return _vetted(context, list(edits.values()), prompts, done)


def _shown(
    search: Search, texts: Texts, edits: Mapping[int, Edit], one: Ask, failed: Mapping[tuple[str, int], Rollout]
) -> Shown:
    rollouts = tuple(failed[t.item, t.draw] for t in one.failures)
    apart = differences(rollouts, [t.subset for t in one.failures], one.believed)
    skill = texts.composed(edits, one.believed).skill
    return Shown(one.number, skill, rollouts, apart, described(search, one.believed))


async def _compact(context: RunContext, shown: Shown, tally: Tally, seed: int) -> tuple[Group, list[Proposal]]:
    """The call for small optimizers, which write rules and nothing beside them."""
    reflection = await reflect(
        shown.failures, shown.skill, context.env, context.stage_context(tally),
        batch_seed=seed, buffer_text=shown.believed, repeat=shown.number, required=False,
    )  # fmt: skip
    group = next(g for g in reflection.groups if g.kind == "failure")
    ids = tuple(r.item.id for r in shown.failures)
    change: Change = group.reply.patch if group.reply is not None else Patch()
    edits = change.edits if isinstance(change, Patch) else ()
    return group, [Proposal(edit, ids, ids) for edit in edits]


def _vetted(
    context: RunContext,
    pool: Sequence[Edit],
    prompts: Sequence[Shown],
    done: Sequence[tuple[Group, Sequence[Proposal]]],
) -> Answered:
    optimizer, initial = context.config.optimizer, context.initial
    good: list[Proposal] = []
    vetoed: list[VetoedEdit] = []
    bad: list[tuple[Edit, str]] = []
    for shown, (_, proposals) in zip(prompts, done, strict=True):
        for told in proposals:
            proposal = replace(told, edit=without_belief(told.edit))
            patch, leaks = Patch((proposal.edit,)), list[VetoedEdit]()
            if optimizer.leakage != "off":
                patch, leaks = strip_leaks(shown.skill, patch, context.leaks, allowed=initial.text)
            patch, faulty = without_faults(optimizer, shown.skill, patch)
            vetoed += [*leaks, *faulty]
            if not patch.edits:
                continue
            reason = unusable(initial, proposal.edit, [*pool, *(p.edit for p in good)])
            if reason:
                bad.append((proposal.edit, reason))
            else:
                good.append(proposal)
    return Answered(tuple(group for group, _ in done), tuple(good), tuple(vetoed), tuple(bad))
