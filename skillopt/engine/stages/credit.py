"""Credit for single edits: each is tried alone on training items, and only what holds its own goes on together.

One bad edit then does not sink three good ones, and three good ones do not carry a bad one in. Nothing is asked of the
selection split. The step's budget (`evaluation.gate_credit_calls`) is shared out before anything is asked: every edit
gets the same number of items; where that would be too few to tell anything, neighbours share a trial (groups). By
default a step's credit may cost one trial: more for each edit finds fewer useful edits for the same calls
(benchmarks/LOG.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.derived import LEAST_TRIAL, credit_budget
from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Edit, Patch
from skillopt.engine.acceptance.trial import default_trial, run_trial
from skillopt.engine.run.context import count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.stages.build import build
from skillopt.engine.stages.context import StepContext
from skillopt.engine.stages.result import Built, Credit, Credited
from skillopt.engine.state import TrainState
from skillopt.optimizer.race import Proposal
from skillopt.records.vocabulary import Stage


def shares(edits: Sequence[Edit], budget: int, wanted: int) -> tuple[list[tuple[Edit, ...]], int]:
    """Groups of neighbouring edits and the items each may ask: `wanted` where the budget allows, never under
    `LEAST_TRIAL` unless the whole budget is smaller."""
    groups = max(1, min(len(edits), budget // LEAST_TRIAL))
    size = -(-len(edits) // groups)
    cut = [tuple(edits[at : at + size]) for at in range(0, len(edits), size)]
    return cut, max(1, min(wanted, budget // len(cut)))


async def credit(built: Built, state: TrainState, ctx: StepContext) -> Credit | None:
    """Try the edits of the step's proposal one by one. None where there is nothing to tell apart."""
    proposal, context, step = built.proposal, ctx.run, ctx.step
    if proposal is None or not isinstance(proposal.change, Patch) or len(proposal.change.edits) < 2:
        return None
    wanted = default_trial(context)
    budget = credit_budget(context.config, len(context.selection))
    groups, items = shares(proposal.change.edits, budget, wanted)

    async def one(edits: tuple[Edit, ...]) -> Credited:
        alone = await build(ctx, "alone", Patch(edits))
        if alone.skill == ctx.skill:
            return Credited(edits, None)
        trial = await run_trial(context, alone.skill, state, step=step, shown=built.rollouts, most=items)
        return Credited(edits, trial)

    with staged(context, Stage.CREDIT, step=step, epoch=ctx.plan.epoch, total=len(groups)) as told:
        rows = await gather_all([one(group) for group in groups])
        kept = tuple(e for row in rows if row.kept for e in row.edits)
        told.count(kept=len(kept), edits=len(proposal.change.edits))
    asked = [r for row in rows if row.trial for r in row.trial.rollouts]
    count_rollouts(ctx.tally, Stage.TRIAL, asked)
    rest: Proposal | None = None
    if kept:
        rest = await build(ctx, proposal.name, Patch(kept, proposal.change.reasoning, proposal.change.meta))
    return Credit(tuple(rows), rest if rest is not None and rest.skill != ctx.skill else None, len(asked))
