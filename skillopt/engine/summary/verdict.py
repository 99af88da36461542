"""The sentence a person can use: what may be said of the best skill, and no more."""

from __future__ import annotations

from skillopt.core.skill import Skill
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.records.schema import GateRecord, PairedSummary
from skillopt.report.reasons import tried_in_vain


def verdict_sentence(
    context: RunContext, state: TrainState, comparison: PairedSummary | None, why_not: str, *, unproven: bool
) -> str:
    """What may be said of the best skill, and no more. `unproven`: a draft is left, of which `in_full` speaks."""
    if state.initial.score is None:
        return f"Nothing was measured: {why_not or 'the initial skill has no score'}."
    if state.best.skill == context.initial and unproven:
        return "No draft was proven: the best skill is the initial one."
    if state.best.skill == context.initial:
        return f"No candidate was kept: the best skill is the initial one. {_why_nothing(state)}"
    if comparison is None:
        return f"Unverified: {why_not or 'the sealed test has too few items'}."
    if comparison.void:
        return "Void: one side of the test lost many more items than the other, so the two cannot be compared."
    low, high = comparison.interval
    gain = f"{comparison.delta:+.3f} on {comparison.n} sealed test items, 95 % interval {low:+.3f} to {high:+.3f}"
    if low > 0:
        return f"Better than the initial skill: {gain}."
    if high < 0:
        return f"Worse than the initial skill: {gain}."
    return f"Not distinguishable from the initial skill: {gain}."


def _why_nothing(state: TrainState) -> str:
    reasons = [record.gate.reason for record in state.history]
    score = state.best.gate_score
    if score is not None and score >= 1.0:
        return "The selection split is at its ceiling: no candidate can score higher."
    if not reasons:
        return "No step was taken."
    vain = tried_in_vain(state.history)
    if vain:
        return f"{vain[0].upper()}{vain[1:]}."
    most = max(set(reasons), key=lambda r: (reasons.count(r), r))
    among = "Reason in the only step" if len(reasons) == 1 else f"Most frequent reason in {len(reasons)} steps"
    return f"{among}: {most}."


def in_full(verdict: str, last: GateRecord | None, draft: Skill | None, reading: int) -> str:
    """The verdict with what has to be said beside it: a draft that is left unproven, a test that is read again."""
    if draft is not None and last is not None:
        verdict = f"{verdict} The best draft is beside it (draft_skill.md), unproven: {last.reason}."
    if reading > 1:
        verdict = f"{verdict} This is reading {reading} of the sealed test, not the first."
    return verdict
