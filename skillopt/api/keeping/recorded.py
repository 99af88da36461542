"""A comparison of skills under targets as it lies on the disk (`compare.json`), read again.

Means, intervals and p-values are made anew from the scores of the items, by the code that the comparison itself used;
what the file says of them is not asked. A file that is none, or is damaged, is a `DataError` or a `RunDirError`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.api.keeping.grid import RESULT, Cell, column_name, table_of
from skillopt.api.shown.paired_table import PairedTable, Score
from skillopt.core.errors import DataError
from skillopt.core.json_types import parse_json
from skillopt.records.codec import decode

DEPTH = 3
"""`<root>/<comparison>` and up to two directories further down."""
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class _CellRecord:
    skill: str
    target: str
    cost: float | None = None
    calls: int = 0
    fault: str = ""
    scores: Mapping[str, float | None] | None = None


@dataclass(frozen=True)
class _GridRecord:
    skills: Mapping[str, str]
    cells: tuple[_CellRecord, ...]


@dataclass(frozen=True)
class RecordedGrid:
    """`skills` and `targets` in the order they were asked for; `hashes` are the skills'."""

    path: Path
    hashes: Mapping[str, str]
    targets: tuple[str, ...]
    cells: tuple[Cell, ...]
    table: PairedTable

    @property
    def skills(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.hashes)

    @property
    def cost(self) -> float | None:
        """Dollars in all; None where the price of a part is not known."""
        known = [cell.cost for cell in self.cells if not cell.fault]
        return None if None in known else math.fsum(cost for cost in known if cost is not None)

    def cell(self, skill: str, target: str) -> Cell | None:
        """What was measured of this skill under this target."""
        return next((c for c in self.cells if (c.skill, c.target) == (skill, target)), None)

    def score(self, cell: Cell) -> Score | None:
        """Its row of the table; None where it could not be measured."""
        name = column_name(cell.skill, cell.target, len(self.hashes), len(self.targets))
        return next((score for score in self.table.scores if score.name == name), None)


def find_grids(root: Path) -> Iterator[Path]:
    """The files of comparisons below a directory; links that lead out of it are not followed."""
    real = root.resolve()
    for depth in range(1, DEPTH + 1):
        for path in sorted(root.glob("/".join(["*"] * depth + [RESULT]))):
            if path.is_file() and path.resolve().is_relative_to(real):
                yield path


def read_grid(path: Path) -> RecordedGrid:
    """Raises `DataError` or `RunDirError` for a file that holds no comparison."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(
                f"{path.name} is larger than {MOST_BYTES // 2**20} MB", hint="look at it with skillopt compare"
            )
        raw = parse_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(
            f"{path.name} is no JSON: {error}", hint="run the comparison again: it pays nothing twice"
        ) from error
    found = decode(_GridRecord, raw, path.name)
    cells = tuple(Cell(c.skill, c.target, _checked(c, path), c.cost, c.calls, c.fault) for c in found.cells)
    targets = tuple(dict.fromkeys(cell.target for cell in cells))
    skills = {cell.skill: found.skills.get(cell.skill, "") for cell in cells}
    return RecordedGrid(path, skills, targets, cells, table_of(cells, len(skills), len(targets)))


def _checked(cell: _CellRecord, path: Path) -> Mapping[str, float | None]:
    """The scores of a cell; each a number from 0 to 1, or None."""
    for item, value in (cell.scores or {}).items():
        if value is not None and not 0 <= value <= 1:
            raise DataError(f"{path.name}: {cell.skill} on {item[:80]}: {value} is no score from 0 to 1")
    return cell.scores or {}
