"""What a night leaves beside its report for whoever asks why: `diagnostics.json`, and the events of one document.

Both hold words of transcripts and models, redacted and cut; they stay in the state, outside the repository.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing
from skillopt.sleep.night.course import NightResult
from skillopt.sleep.night.trials import KindResult
from skillopt.sleep.redact import clean
from skillopt.sleep.scoring.replay import Reply
from skillopt.sleep.staging.manifest import edit_json
from skillopt.sleep.state.evidence import EvidenceLog

_HEAD, _WHY = 200, 400


def diagnostics_of(result: NightResult, errors: Sequence[str], unwritten: int) -> dict[str, JsonValue]:
    """Every reply with its score, by phase, and what failed. `unwritten` are lines of evidence that were lost."""
    kinds = {task.id: task.reference_kind for task in result.inputs.tasks}
    replies: list[JsonValue] = [_reply("train", kinds, r) for lesson in result.lessons for r in lesson.replies]
    replies += [_reply("baseline", kinds, r) for found in result.headroom.values() for r in found]
    for kind in result.kinds:
        for before, after in kind.replies.values():
            replies += [_reply(f"trial:{kind.kind}:before", kinds, r) for r in before]
            replies += [_reply(f"trial:{kind.kind}:after", kinds, r) for r in after]
    return {
        "night": result.inputs.night,
        "verdict": result.verdict,
        "call_errors": [clean(error, _WHY) for error in errors],
        "evidence_lines_lost": unwritten,
        "replies": replies,
    }


def _reply(phase: str, kinds: dict[str, str], reply: Reply) -> JsonValue:
    outcome = reply.outcome
    missing = isinstance(outcome, Missing)
    return {
        "phase": phase,
        "id": reply.task_id,
        "reference_kind": kinds.get(reply.task_id, ""),
        "repeat": reply.repeat,
        "hard": None if missing else outcome.hard,
        "soft": None if missing else outcome.soft,
        "reply": clean(reply.text, _HEAD),
        "why": clean(outcome.error if missing else outcome.fail_reason, _WHY),
    }


def tell(evidence: EvidenceLog, found: KindResult) -> None:
    """What became of one document's edits, as events."""
    for edit in (*found.edits, *found.marked):
        evidence.write("reflect", "edit", kind=found.kind, edit=edit_json(edit))
    for edit in found.marked:
        evidence.write("screen", "hit", kind=found.kind, rule=edit.id, codes=list(edit.screen))
    for drop in found.dropped:
        evidence.write("reflect", "edit_unmatched", kind=found.kind, edit=edit_json(drop.edit), why=drop.reason)
    for number, look in enumerate(found.looks, start=1):
        evidence.write("gate", "trial", kind=found.kind, look=number, verdict=look.verdict, n=look.n, p=look.p,
                       level=look.level, effect=look.effect)  # fmt: skip
