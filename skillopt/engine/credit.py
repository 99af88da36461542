"""Credit for single edits: each is tried alone on training items, and only what holds its own goes on together.

One bad edit then does not sink three good ones, and three good ones do not carry a bad one in. Nothing is asked of the
selection split. The step's budget (`evaluation.gate_credit_calls`) is shared out before anything is asked: every edit
gets the same number of items; where that would be too few to tell anything, neighbours share a trial (groups). By
default a step's credit may cost one trial: more for each edit finds fewer useful edits for the same calls
(benchmarks/LOG.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.core.aio import gather_all
from skillopt.core.edit import Edit, Patch
from skillopt.engine.acceptance.trial import LEAST_TRIAL, default_trial, run_trial
from skillopt.engine.build import build
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import TrainState
from skillopt.engine.step_result import Credit, Credited, StepWork
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.race import Proposal


def credit_mode(context: RunContext) -> str:
    """`off`, `rejected` (after a rejected patch) or `always`. `auto` is always under the paired rule."""
    evaluation = context.config.evaluation
    if not evaluation.use_gate:
        return "off"
    if evaluation.gate_credit != "auto":
        return evaluation.gate_credit
    return "always" if evaluation.gate_rule == "paired" else "off"


def shares(edits: Sequence[Edit], budget: int, wanted: int) -> tuple[list[tuple[Edit, ...]], int]:
    """Groups of neighbouring edits and the items each may ask: `wanted` where the budget allows, never under
    `LEAST_TRIAL` unless the whole budget is smaller."""
    groups = max(1, min(len(edits), budget // LEAST_TRIAL))
    size = -(-len(edits) // groups)
    cut = [tuple(edits[at : at + size]) for at in range(0, len(edits), size)]
    return cut, max(1, min(wanted, budget // len(cut)))


async def credit(context: RunContext, work: StepWork, ctx: StageContext, state: TrainState) -> Credit | None:
    """Try the edits of the step's proposal one by one. None where there is nothing to tell apart."""
    proposal, evaluation = work.proposal, context.config.evaluation
    if proposal is None or not isinstance(proposal.change, Patch) or len(proposal.change.edits) < 2:
        return None
    wanted = default_trial(context)
    budget = evaluation.gate_credit_calls or wanted
    groups, items = shares(proposal.change.edits, budget, wanted)
    step = work.plan.step
    context.emit("stage.start", stage="credit", step=step, epoch=work.plan.epoch, total=len(groups))

    async def one(edits: tuple[Edit, ...]) -> Credited:
        alone = await build(context, work, ctx, "alone", Patch(edits))
        if alone.skill == work.skill:
            return Credited(edits, None)
        trial = await run_trial(context, alone.skill, state, step=step, shown=work.all_rollouts, most=items)
        return Credited(edits, trial)

    with context.timings.measure(step, "credit"):
        rows = await gather_all([one(group) for group in groups])
    asked = [r for row in rows if row.trial for r in row.trial.rollouts]
    count_rollouts(work.tally, "trial", asked)
    kept = tuple(e for row in rows if row.kept for e in row.edits)
    context.emit("stage.end", stage="credit", step=step, kept=len(kept), total=len(proposal.change.edits))
    rest: Proposal | None = None
    if kept:
        patch = Patch(kept, proposal.change.reasoning, proposal.change.meta)
        rest = await build(context, work, ctx, proposal.name, patch)
    return Credit(tuple(rows), rest if rest is not None and rest.skill != work.skill else None, len(asked))
