"""The section on labels: macro-F1 before and after, F1 by label, the confusion table or its heaviest entries."""

from __future__ import annotations

from skillopt.records.beside.label_table import NONE, LabelTable
from skillopt.report.sealed_test import table

_SQUARE = 10
"""Labels up to which the whole table is shown."""
_MISTAKES = 12


def labels_section(before: LabelTable | None, after: LabelTable | None) -> str:
    """The section; blank where the scorer reads no labels."""
    if after is None:
        return ""
    was = f"{before.macro_f1:.4f} → " if before is not None else ""
    parts = [f"## By label\n\nMacro-F1 {was}{after.macro_f1:.4f} on {after.total} items of the sealed test."]
    rows = [
        [
            label,
            str(after.right(label)),
            f"{before.f1(label):.3f}" if before is not None else "–",
            f"{after.f1(label):.3f}",
        ]
        for label in after.labels
    ]
    parts.append(table(["label", "items", "F1 before", "F1 after"], rows))
    if len(after.labels) <= _SQUARE:
        given = [*after.labels, *([NONE] if after.given(NONE) else [])]
        square = [
            [f"**{r}**", *(str(after.counts.get((r, g), 0)) for g in given)] for r in after.labels if after.right(r)
        ]
        parts.append("Right label by row, given label by column, with the best skill:")
        parts.append(table(["", *given], square))
    elif after.mistaken:
        taken = [[right, given, str(count)] for right, given, count in after.mistaken[:_MISTAKES]]
        parts.append("What was most often taken for something else, with the best skill:")
        parts.append(table(["right", "given", "items"], taken))
    return "\n\n".join(parts)
