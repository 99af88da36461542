"""Comparing two workbooks cell by cell, by the official rule of SpreadsheetBench.

Numbers and texts that say one are rounded to two decimals, truth values become numbers, a time loses its seconds, a
date with a time becomes Excel's day number; an empty text is an empty cell; else type and value must be the same.
Formulas are not evaluated: the values are those that the file holds. Each file is opened once a comparison; what the
gold file says is kept for the next one.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from skillopt.core.shorten import shorten, shorten_middle
from skillopt.envs.spreadsheetbench.position import Area, cell_name

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

LONGEST_REPORT = 12_000
_GOLDS_KEPT = 64
_DAY_ZERO = datetime.datetime(1899, 12, 30)


class BrokenWorkbook(Exception):
    """A file that is no workbook; the text says which and why."""


@dataclass(frozen=True)
class Difference:
    """A cell that is not as it should be, with both values as people write them."""

    cell: str
    got: str
    expected: str


def same(left: object, right: object) -> bool:
    """Whether two values of cells count as equal.

    >>> same("12", 12), same("", None), same("a", "A")
    (True, True, False)
    """
    first, second = normal(left), normal(right)
    if first in ("", None) and second in ("", None):
        return True
    return type(first) is type(second) and first == second


def normal(value: object) -> object:
    """A value as it is compared."""
    if isinstance(value, (int, float)):
        return round(float(value), 2)
    if isinstance(value, datetime.time):
        return str(value)[:-3]
    if isinstance(value, datetime.datetime):
        past = value - _DAY_ZERO
        return round(past.days + past.seconds / 86_400, 0)
    if isinstance(value, str):
        try:
            return round(float(value), 2)
        except ValueError:
            return value
    return value


def differences(candidate: Path, gold: Path, areas: Sequence[Area]) -> list[Difference]:
    """The cells of the answer position that differ, in order; a missing sheet is one difference.

    Raises `BrokenWorkbook` where the candidate cannot be read, `OSError` where the gold file cannot."""
    book = open_values(candidate)
    expected = _gold(str(gold), gold.stat().st_mtime_ns)
    found: list[Difference] = []
    for area in areas:
        sheet = expected.meant(area.sheet)
        wanted = expected.sheets.get(sheet)
        if wanted is None:
            raise OSError(f"{gold}: has no sheet {sheet!r}, which the answer position names")
        if sheet not in book.sheetnames or not hasattr(book[sheet], "iter_rows"):
            found.append(Difference(f"sheet {sheet!r}", "no such sheet", "a sheet"))
            continue
        got = Values.of(cast("Worksheet", book[sheet]))
        used = area.clipped(max(got.columns, wanted.columns), max(got.rows, wanted.rows))
        for column, row in used.cells():
            is_, should = got.at(column, row), wanted.at(column, row)
            if not same(is_, should):
                found.append(Difference(f"{sheet}!{cell_name(column, row)}", shown(is_), shown(should)))
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Values:
    """The values of a sheet, row by row from A1."""

    cells: tuple[tuple[object, ...], ...]
    columns: int

    @classmethod
    def of(cls, sheet: Worksheet) -> Values:
        rows = tuple(tuple[object, ...](row) for row in sheet.iter_rows(min_row=1, min_col=1, values_only=True))
        return cls(rows, max((len(row) for row in rows), default=0))

    @property
    def rows(self) -> int:
        return len(self.cells)

    def at(self, column: int, row: int) -> object:
        line = self.cells[row - 1] if row <= len(self.cells) else ()
        return line[column - 1] if column <= len(line) else None


@dataclass(frozen=True)
class _Gold:
    first: str
    sheets: dict[str, Values]

    def meant(self, name: str) -> str:
        """The sheet that a position means: none named, or several in a list as some items do, is the first one."""
        parts = [part.strip() for part in name.split(",")]
        listed = name not in self.sheets and len(parts) > 1 and all(part in self.sheets for part in parts)
        return self.first if not name or listed else name


@lru_cache(maxsize=_GOLDS_KEPT)
def _gold(path: str, _mtime: int) -> _Gold:
    try:
        book = open_values(Path(path))
    except BrokenWorkbook as error:
        raise OSError(str(error)) from error
    sheets = {s.title: Values.of(cast("Worksheet", s)) for s in book.worksheets}
    return _Gold(book.sheetnames[0], sheets)


def open_values(path: Path) -> Workbook:
    """A workbook with values in place of formulas. Raises `BrokenWorkbook`."""
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl does not know of a file does not concern its values
            return openpyxl.load_workbook(path, data_only=True)
    except Exception as error:
        raise BrokenWorkbook(
            f"{path.name}: is no workbook ({type(error).__name__}: {shorten(str(error), 120)})"
        ) from error


def shown(value: object) -> str:
    """A value for a report: an empty cell says so, and a text has its quotation marks."""
    return "(empty)" if value is None else shorten(repr(value) if isinstance(value, str) else str(value), 200)


def report(found: Sequence[Difference], *, with_gold: bool = True) -> str:
    """The differing cells, one a line; what was expected only for those who may know it."""
    lines = [f"{d.cell}: got {d.got}" + (f", expected {d.expected}" if with_gold else "") for d in found]
    return shorten_middle("\n".join(lines), LONGEST_REPORT)
