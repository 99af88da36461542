"""The end of a run, as far as its rule decides it: a draft that is still open, and what an earlier ending proved.

The sealed test's share of the budget stays out of reach meanwhile. A look that a fault or a budget prevents proves
nothing: the best skill stays, and the draft is named as what it is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from skillopt.core.errors import StopRun
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.decide import count, tell
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.charging import all_charged
from skillopt.engine.decision import Measured
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import TrainState
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.records.events import Notice
from skillopt.records.schema import GateRecord
from skillopt.records.vocabulary import Action, Stage

FOLDER = "final_selection_eval"


@dataclass(frozen=True)
class Closed:
    """The state that the run ends with; `last` is the record of the last look, None when there was none, and `draft`
    the text that is left unproven."""

    state: TrainState
    last: GateRecord | None = None
    draft: Skill | None = None


async def close(rule: AcceptanceRule, state: TrainState, context: RunContext, tally: Tally) -> Closed:
    """Let the rule finish. Without a draft, a last skill that is not the best one leaves its measurement."""
    folder = context.run_dir.root / FOLDER
    try:
        decision = await rule.finish(state, context)
    except StopRun as error:
        context.emit(Notice(text=f"the last draft was not looked at: {error}"))
        draft = state.current.skill if state.is_draft else None
        last = GateRecord(action=Action.UNDECIDED, reason=f"not looked at: {error}")
        return Closed(await _with_earlier(state.without_draft(), context, tally), last, draft)
    if decision is None:
        if state.current.skill != state.best.skill and state.current.rollouts:
            await asyncio.to_thread(write_rollout_dir, folder, list(state.current.rollouts))
        return Closed(await _with_earlier(state, context, tally))
    count(tally, decision)
    tell(context, state, decision, epoch=None, stage=Stage.FINAL_SELECTION)
    state = state.after(decision)
    draft = None if decision.verdict.accepted else decision.decided_on
    if state.is_draft:  # the run is over: what was not proven is no result
        state = state.without_draft()
    await asyncio.to_thread(write_rollout_dir, folder, list(decision.rollouts))
    record = decision.record()
    if record.action is Action.DRAFT:  # the search is over, so a draft is kept no longer
        record = replace(record, action=Action.DROP_DRAFT)
    record = replace(record, changed_current=decision.verdict.accepted)
    return Closed(await _with_earlier(state, context, tally), record, draft)


async def _with_earlier(state: TrainState, context: RunContext, tally: Tally) -> TrainState:
    """A run that was extended and proved nothing more keeps what it had proven; the answers are in its journal."""
    earlier, repeats = state.earlier, context.config.evaluation.repeats
    if earlier is None or state.best is not state.initial:
        return state
    try:
        rollouts = await measure(context, earlier.skill, context.selection, stage=Stage.GATE, repeats=repeats)
    except StopRun:
        rollouts = []
    count_rollouts(tally, Stage.GATE, rollouts)
    measured = Measured(earlier.skill, tuple(all_charged(rollouts, state.initial.rollouts)), context.metric)
    return replace(state, best=measured, best_origin=earlier.origin, best_step=earlier.step).without_draft()
