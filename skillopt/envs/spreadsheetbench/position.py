"""Where an answer stands in a workbook: `A1:B3`, `'Sheet'!A1:B3`, several of them with commas between.

Without a sheet the first one of the gold file is meant. Lower-case references are read as upper-case ones; a whole
column or row (`A:C`, `2:5`) means its used cells. A cell that is named twice is compared once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_CELLS = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d+)?(?::\$?([A-Za-z]{1,3})?\$?(\d+)?)?")


@dataclass(frozen=True)
class Area:
    """A rectangle of one sheet, both ends included, counted from 1. `sheet` "" is the first sheet of the gold file."""

    sheet: str
    columns: tuple[int, int]
    rows: tuple[int, int]

    def clipped(self, used_columns: int, used_rows: int) -> Area:
        """What of it lies within the used cells."""
        columns = (self.columns[0], min(self.columns[1], used_columns))
        return Area(self.sheet, columns, (self.rows[0], min(self.rows[1], used_rows)))

    def cells(self) -> list[tuple[int, int]]:
        """Columns and rows of its cells, column after column: A1, A2, B1, B2."""
        columns, rows = range(self.columns[0], self.columns[1] + 1), range(self.rows[0], self.rows[1] + 1)
        return [(column, row) for column in columns for row in rows]


def parse_position(text: str) -> tuple[Area, ...]:
    """The areas of an answer position. Raises `ValueError` saying which part is none.

    >>> parse_position("'My Sheet'!a1:B2")
    (Area(sheet='My Sheet', columns=(1, 2), rows=(1, 2)),)
    """
    areas = tuple(_area(part) for part in _parts(text) if part.strip())
    if not areas:
        raise ValueError("it names no cell")
    return areas


def _parts(text: str) -> list[str]:
    """Split at commas that are not within a pair of quotation marks."""
    if text.count("'") % 2:
        return text.split(",")
    parts, quoted, begin = list[str](), False, 0
    for at, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif letter == "," and not quoted:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def _area(part: str) -> Area:
    sheet, mark, cells = part.strip().rpartition("!")
    cells = cells.strip().strip("'").strip()
    found = _CELLS.fullmatch(cells)
    if found is None or not (found[1] or found[2]):
        raise ValueError(f"{part.strip()!r} is no range of cells")
    left, top, right, bottom = found.groups()
    if (":" in cells and not (right or bottom)) or (":" not in cells and not (left and top)):
        raise ValueError(f"{part.strip()!r} is no range of cells")
    if ":" not in cells:
        right, bottom = left, top
    columns = _ordered(_column(left, 1), _column(right, MOST_COLUMNS))
    rows = _ordered(int(top or 1), int(bottom or MOST_ROWS))
    if not 1 <= columns[0] <= columns[1] <= MOST_COLUMNS or not 1 <= rows[0] <= rows[1] <= MOST_ROWS:
        raise ValueError(f"{part.strip()!r} lies outside a sheet")
    return Area(_unquoted(sheet) if mark else "", columns, rows)


def _unquoted(sheet: str) -> str:
    """A sheet's name without its quotation marks, of which published items sometimes have only one."""
    name = sheet.strip()
    if len(name) > 1 and name[0] == name[-1] == "'":
        return name[1:-1].replace("''", "'")
    return name.strip("'")


def _column(letters: str | None, otherwise: int) -> int:
    number = 0
    for letter in (letters or "").upper():
        number = number * 26 + ord(letter) - 64
    return number or otherwise


def _ordered(first: int, second: int) -> tuple[int, int]:
    return (first, second) if first <= second else (second, first)


def cell_name(column: int, row: int) -> str:
    """`A1` for 1, 1."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"
