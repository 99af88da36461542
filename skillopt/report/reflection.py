"""What the report says of skill-aware reflection, deep reflection and the bonus for words.

Pure functions of the records. Whatever passed the gate by, or was kept for another reason than a measured gain, is said
in so many words.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.records.schema import StepRecord
from skillopt.records.vocabulary import Action


def notes_section(steps: Sequence[StepRecord]) -> str:
    """Reminders over the run; blank where reflection is not skill-aware."""
    rows = [record.notes for record in steps if record.notes is not None]
    if not rows:
        return ""
    tried = [row.appendix for row in rows if row.appendix.action is not Action.NOT_TRIED]
    kept = [gate for gate in tried if gate.action.kept]
    proposed, last = sum(row.n_execution_lapse_notes for row in rows), rows[-1]
    lines = [
        "## Execution notes",
        f"{proposed} reminders were proposed. {last.n_appendix_notes_total} are in the last skill, "
        f"{last.n_appendix_notes_pending} are pending: proposed, and not let in by the gate "
        "(`steps/*/appendix_notes.json` lists them).",
        f"Texts with new reminders: {len(tried)} measured, {len(kept)} kept.",
    ]
    bypassed = [gate for gate in kept if gate.gate_bypassed]
    if bypassed:
        where = "1 step" if len(bypassed) == 1 else f"{len(bypassed)} steps"
        lines.append(
            f"In {where} reminders passed the gate by (optimizer.skill_aware_gate_with_selection: "
            "false). They were kept whatever they scored; the text with them was measured afterwards."
        )
    return "\n\n".join(lines)


def reflection_remarks(steps: Sequence[StepRecord]) -> list[str]:
    """Warnings of deep reflection, and what the bonus for words did."""
    remarks: list[str] = []
    deep = [found for record in steps for found in record.deep_reflect]
    warned = [found for found in deep if found.warning]
    if warned:
        remarks.append(f"deep reflection came to less in {len(warned)} of {len(deep)} batches: {warned[0].warning}")
    gates = [record.gate for record in steps] + [r.notes.appendix for r in steps if r.notes is not None]
    verdicts = [gate for gate in gates if gate.semantic_density is not None]
    if verdicts:
        words = sum("for its bonus for words alone" in gate.reason for gate in verdicts)
        remarks.append(
            "the gate compared scores with a bonus for leading words on top (evaluation.use_semantic_density); "
            f"{words} texts were kept for that bonus alone, which is no measured improvement"
        )
    return remarks
