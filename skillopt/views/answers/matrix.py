"""Items by measurements: which was right when. A matrix a split; columns in the run's order, rows hardest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.gate.metric import Metric
from skillopt.records.reading import Run
from skillopt.views.answers.items import ItemView
from skillopt.views.measurements import SPLITS, Measurement, Split, mean, metric_of, value

_EPOCH = re.compile(r"\bafter epoch (\d+)")


@dataclass(frozen=True)
class Cell:
    """`score` is the mean of the item's draws; None with `asked` is missing, without it nobody asked."""

    asked: bool = False
    score: float | None = None


@dataclass(frozen=True)
class Column:
    """One measurement: its label, the step it belongs to, and the mean over what it measured."""

    label: str
    step: int | None
    score: float | None
    n: int

    @property
    def short(self) -> str:
        """What fits above a cell: the step (`3n` its notes, `3t` its trial), `e2` after the second epoch, the first
        word of anything else.

        >>> Column("slow update after epoch 2, selection", None, 0.5, 12).short
        'e2'
        """
        if self.step is not None:
            kind = "n" if self.label.endswith("notes") else "t" if self.label.endswith("trial") else ""
            return f"{self.step}{kind}"
        epoch = _EPOCH.search(self.label)
        return f"e{epoch[1]}" if epoch else "0" if self.label == "initial skill" else self.label.partition(" ")[0]


@dataclass(frozen=True)
class Matrix:
    """One split. `cells[row][column]`."""

    split: Split
    columns: tuple[Column, ...]
    items: tuple[ItemView, ...]
    cells: tuple[tuple[Cell, ...], ...]


def matrices(run: Run, measured: Sequence[Measurement], views: Sequence[ItemView]) -> tuple[Matrix, ...]:
    """The splits that the run has asked."""
    metric = metric_of(run)
    found: list[Matrix] = []
    for split in SPLITS:
        columns = [m for m in measured if m.split == split]
        if not columns:
            continue
        scores = [_scores(m, metric) for m in columns]
        names = {row.id for m in columns for row in m.rows}
        rows = [
            (view, tuple(each.get(view.id, Cell()) for each in scores)) for view in views if view.id in names
        ]  # fmt: skip
        rows.sort(key=lambda row: mean([cell.score for cell in row[1]]) or 0.0)
        heads = tuple(_column(m, each) for m, each in zip(columns, scores, strict=True))
        found.append(Matrix(split, heads, tuple(v for v, _ in rows), tuple(c for _, c in rows)))
    return tuple(found)


def _scores(each: Measurement, metric: Metric) -> dict[str, Cell]:
    draws: dict[str, list[float | None]] = {}
    for row in each.rows:
        draws.setdefault(row.id, []).append(value(row, metric))
    return {item: Cell(True, mean(values)) for item, values in draws.items()}


def _column(each: Measurement, cells: dict[str, Cell]) -> Column:
    return Column(each.label, each.step, mean([c.score for c in cells.values()]), len(cells))
