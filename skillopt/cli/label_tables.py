"""Labels on the screen: macro-F1 and a row a label, of one evaluation or of two skills side by side.

Of more labels than a screen holds the worst are shown; the files have all.
"""

from __future__ import annotations

from rich.table import Table

from skillopt.api.looking import visible
from skillopt.cli.console import Screen
from skillopt.cli.wording import number, plural
from skillopt.records.beside.label_table import LabelScore, LabelScores

_MOST = 20


def show_labels(screen: Screen, what: str, found: LabelScores) -> None:
    """One evaluation: precision, recall and F1 by label."""
    none = f", {plural(found.none, 'answer')} without one label" if found.none else ""
    screen.line(f"Macro-F1 ({what}): {number(found.macro_f1)} on {plural(found.n, 'answer')}{none}")
    table = _table("items", "given", "precision", "recall", "F1")
    for label, one in _worst(found):
        table.add_row(visible(label, 60), str(one.items), str(one.given), _share(one.precision), _share(one.recall),
                      number(one.f1))  # fmt: skip
    screen.show(table)
    _rest(screen, found, "eval_summary.json has all")


def show_both(screen: Screen, before: LabelScores | None, after: LabelScores) -> None:
    """The initial and the best skill on the sealed test."""
    was = f"{number(before.macro_f1)} → " if before is not None else ""
    none = f", {plural(after.none, 'answer')} of the best skill without one label" if after.none else ""
    screen.line(f"Macro-F1 (sealed test): {was}{number(after.macro_f1)} on {plural(after.n, 'item')}{none}")
    table = _table("items", "F1 initial", "F1 best", "precision", "recall")
    for label, one in _worst(after):
        earlier = before.by_label.get(label) if before is not None else None
        table.add_row(visible(label, 60), str(one.items), _share(earlier.f1 if earlier is not None else None),
                      number(one.f1), _share(one.precision), _share(one.recall))  # fmt: skip
    screen.show(table)
    _rest(screen, after, "--json has all")


def _worst(found: LabelScores) -> list[tuple[str, LabelScore]]:
    rows = list(found.by_label.items())
    return rows if len(rows) <= _MOST else sorted(rows, key=lambda row: row[1].f1)[:_MOST]


def _rest(screen: Screen, found: LabelScores, where: str) -> None:
    if len(found.by_label) > _MOST:
        screen.line(f"and {plural(len(found.by_label) - _MOST, 'label')} with no lower F1 ({where})")


def _share(value: float | None) -> str:
    return "–" if value is None else number(value)


def _table(*figures: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("label")
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    return table
