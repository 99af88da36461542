"""What the report says of skill-aware reflection, deep reflection and the bonus for words.

Pure functions of the records. Whatever passed the gate by, or was kept for another reason than a measured gain, is said
in so many words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
ACCEPTS = frozenset({"accept_new_best", "accept", "force_accept"})


def kept_something(record: Record) -> bool:
    """True when a step's candidate or its notes entered the skill."""
    notes: Record = record.get("appendix") or {}
    return record.get("action") in ACCEPTS or notes.get("action") in ACCEPTS


def notes_section(history: Sequence[Record]) -> str:
    """Reminders over the run; blank where reflection is not skill-aware."""
    rows = [r for r in history if "appendix" in r]
    if not rows:
        return ""
    tried = [r for r in rows if r["appendix"].get("action") is not None]
    kept = [r for r in tried if r["appendix"]["action"] in ACCEPTS]
    proposed, last = sum(r["n_execution_lapse_notes"] for r in rows), rows[-1]
    lines = [
        "## Execution notes",
        f"{proposed} reminders were proposed. {last['n_appendix_notes_total']} are in the last skill, "
        f"{last['n_appendix_notes_pending']} are pending: proposed, and not let in by the gate "
        "(`steps/*/appendix_notes.json` lists them).",
        f"Texts with new reminders: {len(tried)} measured, {len(kept)} kept.",
    ]
    bypassed = [r for r in kept if r["appendix"].get("gate_bypassed")]
    if bypassed:
        lines.append(
            f"In {len(bypassed)} steps reminders passed the gate by (optimizer.skill_aware_gate_with_selection: "
            "false). They were kept whatever they scored; the text with them was measured afterwards."
        )
    return "\n\n".join(lines)


def reflection_remarks(history: Sequence[Record]) -> list[str]:
    """Warnings of deep reflection, and what the bonus for words did."""
    remarks: list[str] = []
    deep: list[Record] = [found for r in history for found in r.get("deep_reflect") or ()]
    warned = [found for found in deep if found["warning"]]
    if warned:
        remarks.append(f"deep reflection came to less in {len(warned)} of {len(deep)} batches: {warned[0]['warning']}")
    notes: list[Record] = [r["appendix"] for r in history if "appendix" in r]
    verdicts = [v for v in [*history, *notes] if "semantic_density" in v]
    if verdicts:
        words = sum("for its bonus for words alone" in str(v.get("reason")) for v in verdicts)
        remarks.append(
            "the gate compared scores with a bonus for leading words on top (evaluation.use_semantic_density); "
            f"{words} texts were kept for that bonus alone, which is no measured improvement"
        )
    return remarks
