"""The sealed test in the report: scores with n and interval, what was won and lost, and by task type.

Pure functions of the summary. Unknown is written as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
SHOWN_ITEMS = 12
"""Items named in a list; the rest is counted."""

_TESTS = (("initial", "baseline_test"), ("best", "test"), ("final", "final_test"))
_TYPE_KEYS = (("initial", "test_eval_baseline"), ("best", "test_eval"), ("final", "test_eval_final"))


def score_of(value: Any) -> str:
    """A score to four digits."""
    return "not measured" if value is None else f"{float(value):.4f}"


def bounds_of(bounds: Any) -> str:
    """An interval, or a dash."""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "–"


def signed(value: Any) -> str:
    """A difference with its sign."""
    return "unknown" if value is None else f"{float(value):+.4f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def sealed_test(summary: Record) -> str:
    """The section of the sealed test."""
    rows: list[list[str]] = []
    for name, key in _TESTS:
        row: Record | None = summary.get(key)
        if row:
            n, total = row.get("n"), row.get("total")
            scope = f"{n} of {total}" if total is not None else str(n)
            lost = "–" if total is None or n is None else str(total - n)
            scores = [score_of(row.get("hard")), bounds_of(row.get("interval")), score_of(row.get("soft"))]
            rows.append([name, *scores, scope, lost])
    if not rows:
        return "## Sealed test\n\nNot measured."
    head = ["skill", "hard", "95 % interval", "soft", "items", "lost to faults"]
    return "\n\n".join(["## Sealed test", table(head, rows), *_paired(summary), _seed(summary)])


def _paired(summary: Record) -> list[str]:
    paired: Record = summary.get("paired") or {}
    if not paired.get("n"):
        return []
    p = f", two-sided sign test p = {paired['p']:.3g}" if paired.get("p") is not None else ""
    lines = [
        f"Best against initial, paired on {paired['n']} items: {paired.get('wins')} won, {paired.get('losses')} lost, "
        f"difference {signed(paired.get('delta'))} with 95 % interval {bounds_of(paired.get('interval'))}{p}."
    ]
    for word, key in (("Won", "won"), ("Lost", "lost")):
        names: Sequence[str] = paired.get(key) or ()
        if names:
            more = f" and {len(names) - SHOWN_ITEMS} more" if len(names) > SHOWN_ITEMS else ""
            lines.append(f"{word}: {', '.join(f'`{name}`' for name in names[:SHOWN_ITEMS])}{more}.")
    return ["\n\n".join(lines)]


def _seed(summary: Record) -> str:
    seed = summary.get("seed")
    return "One run" + (f" with seed {seed}" if seed is not None else "") + ": another seed is another run."


def task_types(summary: Record) -> str:
    """Hard accuracy by task type, with what was won and lost; left out where the items are of one kind."""
    by_skill: Mapping[str, Mapping[str, Record]] = summary.get("test_by_task_type") or {}
    shown = [(name, by_skill[key]) for name, key in _TYPE_KEYS if key in by_skill]
    kinds = sorted({kind for _, rows in shown for kind in rows if kind != "overall"})
    if len(kinds) < 2:
        return ""
    paired: Record = summary.get("paired") or {}
    differences: Mapping[str, Record] = paired.get("by_type") or {}
    rows: list[list[str]] = []
    for kind in kinds:
        cells = [cells.get(kind, {}) for _, cells in shown]
        items = str(max(c.get("total", 0) for c in cells))
        found = differences.get(kind)
        change = (
            [f"{found['wins']} / {found['losses']}", f"{signed(found['delta'])} {bounds_of(found['interval'])}"]
            if found
            else ["–", "–"]
        )
        rows.append([kind, items, *(score_of(c.get("hard_acc")) for c in cells), *change])
    head = ["type", "items", *(name for name, _ in shown), "won / lost", "best − initial, 95 % interval"]
    return "## By task type\n\n" + table(head, rows)
