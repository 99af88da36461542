"""A page of the item × step matrix: some columns and some rows of it, for runs whose whole matrix nobody can load.

Columns are measurements in the order of the run. Rows are items, hardest first by a sample of the columns that is
spread over the run (all of them where there are few), so that pages fit together whichever is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.records.reading import Run
from skillopt.views.answers.matrix import Cell, Column
from skillopt.views.answers.scores import ItemScore, Scores
from skillopt.views.measurements import Place, Split, mean, places

SAMPLE = 8
"""Columns that the order of the rows is made of."""


@dataclass(frozen=True)
class Row:
    """One item with its cells of the page."""

    id: str
    name: str
    task_type: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Window:
    """Which part is asked for; from 0."""

    column: int = 0
    row: int = 0
    columns: int = 25
    rows: int = 50


@dataclass(frozen=True)
class Grid:
    """A page. `columns_total` and `rows_total` are of the whole matrix of the split, after `only`."""

    split: Split
    window: Window
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    columns_total: int
    rows_total: int
    directories: tuple[str, ...]
    items: int = 0
    """Of the split, before `only`."""


def split_columns(run: Run) -> dict[Split, tuple[Place, ...]]:
    """The measurements of each split that the run has."""
    found: dict[Split, list[Place]] = {}
    for place in places(run):
        found.setdefault(place.split, []).append(place)
    return {split: tuple(rows) for split, rows in found.items()}


def grid(run: Run, scores: Scores, split: Split, window: Window, *, only: str = "") -> Grid:
    """A page of a split's matrix. `only` keeps items whose id, name or class holds the words."""
    columns = split_columns(run).get(split, ())
    names, items = _ordered(run, scores, columns, split, only)
    shown = columns[window.column : window.column + window.columns]
    read = [scores.of(run, place.directory) for place in shown]
    rows = names[window.row : window.row + window.rows]
    heads = tuple(
        Column(p.label, p.step, mean([c.score for c in column.values()]), len(column))
        for p, column in zip(shown, read, strict=True)
    )
    return Grid(
        split, window, heads,
        tuple(Row(item, about.name, about.task_type, tuple(_cell(c.get(item)) for c in read)) for item, about in rows),
        len(columns), len(names), tuple(p.directory for p in shown), items,
    )  # fmt: skip


def _cell(found: ItemScore | None) -> Cell:
    return Cell() if found is None else Cell(True, found.score)


def _ordered(
    run: Run, scores: Scores, columns: Sequence[Place], split: Split, only: str
) -> tuple[list[tuple[str, ItemScore]], int]:
    """The split's items, hardest first by the sample; those that it does not hold come last, as the run lists them.
    And how many there are without `only`."""
    known: dict[str, ItemScore] = {}
    seen: dict[str, list[float | None]] = {}
    sampled = _spread(columns)
    for place in sampled:
        for item, found in scores.of(run, place.directory).items():
            known.setdefault(item, found)
            seen.setdefault(item, []).append(found.score)
    if len(sampled) < len(columns):
        for item, row in run.items.items():
            if row.split == split:
                known.setdefault(item, ItemScore(None, item, row.task_type))
    words = only.casefold().strip()
    kept = [
        (item, about)
        for item, about in known.items()
        if not words or any(words in text.casefold() for text in (item, about.name, about.task_type))
    ]
    return sorted(kept, key=lambda row: (row[0] not in seen, mean(seen.get(row[0], ())) or 0.0)), len(known)


def _spread(columns: Sequence[Place]) -> list[Place]:
    """All of them where they are few, else `SAMPLE`: the first, the last, and some between."""
    if len(columns) <= 2 * SAMPLE:
        return list(columns)
    step = (len(columns) - 1) / (SAMPLE - 1)
    return [columns[round(n * step)] for n in range(SAMPLE)]
