"""Comparisons of skills under models and harnesses, as `skillopt compare` leaves them below the roots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.api.keeping.recorded import RecordedGrid, find_grids, read_grid
from skillopt.core.errors import RunDirError, SkillOptError
from skillopt.views.answers.matrix import Cell
from skillopt.views.drawn.drawings import effect_bars
from skillopt.views.effects import Bar
from skillopt_webui import frame
from skillopt_webui.routing import get
from skillopt_webui.runs import Runs, id_of
from skillopt_webui.state import state_of
from skillopt_webui.understand.asking import number, words

ROWS = 50
_NAMES = 380
"""Room for the names of two columns beside their bar."""


@dataclass(frozen=True)
class GridRow:
    """A line of the list. `problem` says why a file cannot be shown."""

    id: str
    place: str
    skills: int = 0
    targets: int = 0
    problem: str = ""


@dataclass(frozen=True)
class ItemRow:
    """One item under every column; `spread` is what the best column has more than the worst."""

    id: str
    cells: tuple[Cell, ...]
    spread: float


def grid_rows(runs: Runs) -> list[GridRow]:
    """Every comparison below the roots, the newest first. Blocking."""
    found = {path: root for root in runs.roots for path in find_grids(root)}
    newest = sorted(found, key=lambda path: (-_changed(path), str(path)))
    return [_row(path, found[path]) for path in newest]


def _row(path: Path, root: Path) -> GridRow:
    place = path.parent.relative_to(root).as_posix()
    try:
        grid = read_grid(path)
    except SkillOptError as error:
        return GridRow(id_of(path.parent), place, problem=error.message)
    return GridRow(id_of(path.parent), place, len(grid.skills), len(grid.targets))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # gone since it was found
        return 0.0


async def show(request: Request) -> Response:
    """One comparison: `?of=…`, its items a page at a time (`from`, `differ`)."""
    grid = await run_in_threadpool(_find, state_of(request).runs, words(request, "of"))
    rows = await run_in_threadpool(item_rows, grid)
    if words(request, "differ"):
        rows = [row for row in rows if row.spread > 0]
    at = number(request, "from", most=len(rows))
    return frame.render(
        request, "understand/grid.html", grid=grid, drawing=_drawing(grid), rows=rows[at : at + ROWS], at=at,
        shown=ROWS, total=len(rows), differ=bool(words(request, "differ")), of=words(request, "of"),
        name=grid.path.parent.name,
    )  # fmt: skip


def _find(runs: Runs, wanted: str) -> RecordedGrid:
    for root in runs.roots:
        for path in find_grids(root):
            if id_of(path.parent) == wanted:
                return read_grid(path)
    raise RunDirError("there is no such comparison here", hint="it may have been moved; the list shows what there is")


def item_rows(grid: RecordedGrid) -> list[ItemRow]:
    """The items that columns answer differently first, the hardest of these first."""
    scores: dict[str, list[Cell]] = {}
    for n, cell in enumerate(grid.cells):
        for item, score in cell.scores.items():
            row = scores.setdefault(item, [Cell()] * len(grid.cells))
            row[n] = Cell(True, score)
    rows = [ItemRow(item, tuple(cells), _spread(cells)) for item, cells in scores.items()]
    return sorted(rows, key=lambda row: (-row.spread, sum(c.score or 0.0 for c in row.cells), row.id))


def _spread(cells: list[Cell]) -> float:
    known = [cell.score for cell in cells if cell.score is not None]
    return max(known) - min(known) if known else 0.0


def _drawing(grid: RecordedGrid) -> Markup:
    """Every pair with its interval."""
    bars = [Bar(f"{p.a} → {p.b}", "", 100 * p.delta, _points(p.interval), p.words) for p in grid.table.pairs]
    return effect_bars(bars, "Difference of each pair in points, with intervals that hold all at once", _NAMES)


def _points(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


ROUTES = (get("/compare/grid", show),)
