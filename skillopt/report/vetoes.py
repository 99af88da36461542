"""What was taken out before it could be measured, each with its reason. A pure function of the step records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt.records.schema import StepRecord
from skillopt.records.vocabulary import Veto

SHOWN = 20
"""Rows of the list; the rest is counted."""


def vetoes_section(steps: Sequence[StepRecord]) -> str:
    """How many edits were vetoed for what, and a row for each; blank where none was."""
    counts = veto_counts(steps)
    if not counts:
        return ""
    said = "; ".join(f"{count} {reason.words}" for reason, count in counts.items())
    rows = [f"- step {r.step}, edit {v.index} ({v.op}): {v.says}" for r in steps for v in r.vetoed if v.says]
    more = [f"- and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    parts = ["## Vetoed edits", f"{sum(counts.values())} edits were vetoed before the gate: {said}."]
    return "\n\n".join([*parts, "\n".join([*rows[:SHOWN], *more])] if rows else parts)


def veto_counts(steps: Sequence[StepRecord]) -> dict[Veto, int]:
    """Vetoed edits of all steps by reason; those that no list explains have an unknown one."""
    found = Counter(v.reason for record in steps for v in record.vetoed)
    found[Veto.UNKNOWN] += sum(max(0, record.n_edits_vetoed - len(record.vetoed)) for record in steps)
    return {reason: found[reason] for reason in Veto if found[reason]}
