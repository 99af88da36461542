"""Meta reflection at an epoch's end: one more change, made of the epoch's accepted and rejected directions.

It comes after slow update and meta skill, is built by the run's update mode with the leakage check of every step, and
passes the run's gate. Off by default: it is one gate more per epoch.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from skillopt.core.editing.change import Change
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.engine.acceptance.decide import write_decision
from skillopt.engine.batches import StepPlan
from skillopt.engine.decision import Decision
from skillopt.engine.epoch.work import EpochWork
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.build import build
from skillopt.engine.stages.context import StepContext
from skillopt.engine.stages.result import StepResult
from skillopt.engine.stages.vetoes import veto_records
from skillopt.engine.state import TrainState
from skillopt.optimizer.epoch.meta_reflect import ask_directions
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.race import Proposal
from skillopt.records.schema import ApplySummary, EpochRecord, GateRecord, StepRecord
from skillopt.records.vocabulary import Action

NAME = "meta_reflect"


def direction(
    context: RunContext, found: StepResult, record: StepRecord, digest: JsonObject | None
) -> dict[str, JsonValue]:
    """What meta reflection sees of a step: what was tried, what became of it, how the tasks failed.

    The score of a rejected candidate is left out: an early gate does not know it, and it must decide as the full one.
    """
    score = record.gate.candidate_gate_score
    proposal = found.built.proposal
    accepted = found.decision is not None and found.decision.verdict.accepted
    items = proposal.change.items if proposal is not None and found.decision is not None else ()
    return {
        "step": record.step,
        "action": record.gate.action.value,
        "score": f", selection score {score:.4f}" if accepted and score is not None else "",
        "best_score": record.best_score,
        "items": [update_mode(context.config.optimizer.skill_update_mode).describe(item) for item in items],
        "patterns": [
            {k: p[k] for k in ("pattern", "count")}
            for p in map(as_object, as_array((digest or {}).get("failure_patterns")))
        ],
    }


async def reflect(work: EpochWork, state: TrainState) -> tuple[TrainState, EpochRecord]:
    """Ask, build, decide, write the views. The state and the result file. Raises `StopRun`."""
    context, skill, memory = work.context, state.current.skill, state.memory
    ctx = context.stage_context(work.tally)
    with context.timings.measure(work.step, NAME):
        reply, lost = await ask_directions(
            skill, memory.directions, memory.meta_summary, context.config.optimizer.meta_learning_rate, ctx
        )
    if reply is not None and reply.summary:
        state = state.remembering(meta_summary=reply.summary)
    found = replace(
        work.record(Action.SKIP_NO_EDITS, lost or "the optimizer proposed nothing"),
        update_origin="meta_reflect_momentum",
        summary=state.memory.meta_summary,
    )
    proposal: Proposal | None = None
    decision: Decision | None = None
    if reply is not None and reply.change.items:
        at = StepContext(context, StepPlan(work.step, work.epoch, 0, ()), skill, ctx)
        proposal = await build(at, NAME, reply.change)
        gate = _without_gate(proposal)
        if gate is None:
            decision = await work.decide(proposal.skill, state)
            state, gate = state.after(decision), decision.record()
        found = replace(
            found,
            gate=gate,
            n_items=len(proposal.change.items),
            edit_apply_summary=ApplySummary(**proposal.report.summary()),
            vetoed=veto_records(proposal.vetoed),
            gate_score=gate.candidate_gate_score,
        )
    result = work.result(state, found)
    await asyncio.to_thread(_write, work, reply.change if reply else None, proposal, decision)
    return state, result


def _without_gate(proposal: Proposal) -> GateRecord | None:
    """Why the proposal does not reach the gate; None when it does."""
    if proposal.rewrite is not None and proposal.rewrite.lost:
        return GateRecord(action=Action.SKIP_NO_REWRITE, reason=proposal.rewrite.lost)
    if proposal.change.items:
        return None
    reason = f"every edit was vetoed: {proposal.vetoed[0].leaks[0]}" if proposal.vetoed else "no edit"
    return GateRecord(action=Action.SKIP_NO_EDITS, reason=reason)


def _write(work: EpochWork, change: Change | None, proposal: Proposal | None, decision: Decision | None) -> None:
    run_dir, folder = work.context.run_dir, work.folder
    if proposal is not None:
        run_dir.write(f"{folder}/meta_patch.json", proposal.change.to_json())
        run_dir.write(f"{folder}/meta_candidate.md", proposal.skill.text)
        if proposal.rewrite is not None:
            run_dir.write(f"{folder}/meta_rewrite_result.json", proposal.rewrite.to_json())
        else:
            run_dir.write(f"{folder}/meta_edit_apply_report.json", [s.to_json() for s in proposal.report.statuses])
    elif change is not None:
        run_dir.write(f"{folder}/meta_patch.json", change.to_json())
    if decision is not None:
        write_decision(run_dir.root / folder, decision)
