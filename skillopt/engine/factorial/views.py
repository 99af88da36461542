"""The views of a round: the step record of the published shape, `factorial.json` beside it, and the working draft.

Pure functions of what the round found; deleting them loses nothing.
"""

from __future__ import annotations

from dataclasses import replace

from skillopt.core.editing.edit import Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.json_types import JsonObject
from skillopt.engine.factorial.found import Round
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.record import step_record, write_state, write_step
from skillopt.engine.stages.result import Built, Judged, Reflected, Rolled, Selected, StepResult
from skillopt.engine.state import TrainState
from skillopt.optimizer.race import Proposal
from skillopt.optimizer.reflect import Reflection
from skillopt.records.codec import decode
from skillopt.records.schema import EffectRecord, FactorialRecord, StepRecord


def as_step(context: RunContext, found: Round) -> StepResult:
    """A round in the nouns of a step: what was proposed is its merged patch, the draft its candidate."""
    groups = Reflection(found.answered.groups)
    empty = tuple(Reflection() for _ in found.batches[1:])
    reflected = Reflected(Rolled(found.batches), ((groups, *empty),))
    merged = Patch(tuple(p.edit for p in found.answered.proposals))
    selected = Selected(reflected, (), merged, None, None)
    proposal = None
    if found.decision is not None:
        patch = Patch(found.decision.edits)
        proposal = Proposal("factorial", patch, found.decision.skill, apply_patch(context.initial, patch)[1])
    built = Built(
        selected, proposal, vetoed=found.answered.vetoed, skip_reason="what is believed best is the same as before"
    )
    return StepResult(found.plan, context.initial, found.tally, Judged(built, found.decision))


def round_record(context: RunContext, found: Round, state: TrainState) -> StepRecord:
    """The history entry of a round."""
    rows = tuple(decode(EffectRecord, row, "effects.json") for row in found.rows)
    kept = tuple(row for row in rows if row.kept)
    about = FactorialRecord(
        lines=len(rows),
        kept=len(kept),
        new=len(found.new),
        subsets=len({t.subset for t in found.trials}),
        optimizer_calls=len(found.answered.groups),
        effects=kept,
    )
    return replace(step_record(context, as_step(context, found), state), factorial=about)


def write_round(context: RunContext, state: TrainState, found: Round, record: StepRecord) -> None:
    """All files of one round. Blocking; call it in a worker thread."""
    step = found.plan.step
    write_step(context.run_dir, as_step(context, found), record, None)
    context.run_dir.write(f"steps/step_{step:04d}/factorial.json", _details(found))
    context.run_dir.write("effects.json", list(found.rows))
    context.run_dir.write(f"skills/skill_v{step:04d}.md", state.current.skill.text)
    write_state(context, state)


def _details(found: Round) -> JsonObject:
    """Which lines each rollout had (subset → bytes is `compose` over `effects.json`), and what became of proposals."""
    return {
        "trials": [{"item": t.item, "draw": t.draw, "lines": [n + 1 for n in sorted(t.subset)]} for t in found.trials],
        "new": [n + 1 for n in found.new],
        "unusable": [{"edit": edit.to_json(), "reason": reason} for edit, reason in found.answered.unusable],
        "effects": list(found.rows),
    }
