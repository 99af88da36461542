"""The lines of the last draft of a factorial search, each with its effect and the interval that holds it."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.core.json_types import JsonObject, as_text
from skillopt.records.schema import EffectRecord, StepRecord
from skillopt.report.sealed_test import table

_CHARS = 120


def line_effects(steps: Sequence[StepRecord]) -> str:
    """The section, or a blank text for a run of another search."""
    found = steps[-1].factorial if steps else None
    if found is None:
        return ""
    head = (
        "## What each line does\n\nMeasured on training tasks, all lines at once: what a line adds to the mean score, "
        f"with the interval that holds it with 95 % probability. {found.lines} lines were tried, {len(found.effects)} "
        "are in the draft; all of them are in `effects.json`."
    )
    if not found.effects:
        return head
    rows = sorted(found.effects, key=lambda row: (-(row.effect or 0.0), row.line))
    body = [[_said(row.edit), _points(row.effect), _interval(row), str(row.rollouts)] for row in rows]
    return f"{head}\n\n{table(['line', 'effect (points)', '95 % interval', 'rollouts'], body)}"


def _said(edit: JsonObject) -> str:
    text = as_text(edit.get("content")) or f"without: {as_text(edit.get('target'))}"
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= _CHARS else line[:_CHARS] + "…"


def _points(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.1f}"


def _interval(row: EffectRecord) -> str:
    return " to ".join(map(_points, row.interval)) if row.interval else "–"
