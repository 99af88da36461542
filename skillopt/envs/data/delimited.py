"""Tables as text: CSV with any of the usual separators, TSV, and files without a header line.

The separator is the one under which all rows have as many cells as the header: a comma, or a tab in a .tsv, where
that fits, else a semicolon, a tab or a bar, and this is told. `sep=;` on the first line is taken at its word. Cells
may be quoted, and of any length. Rows without content are passed over with a count; a ragged row is a `DataError`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.envs.data.rows import ItemFile, Row

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LOOKED_AT = 60
_MOST = 2**31 - 1
"""The longest cell; the csv module's own limit is 131,072 characters."""


def delimited_rows(path: Path, text: str, usual: str) -> ItemFile:
    """The rows of a table. `usual` is the separator that the file's name promises."""
    csv.field_size_limit(_MOST)
    separator, skip = _announced(text) or (_separator(text, usual), 0)
    records = _records(path, text, separator)
    for _ in range(skip):
        next(records, None)
    first = next(records, (1, list[str]()))[1]
    following = [cells for _, cells in islice(_tolerant(text, separator), skip + 1, _LOOKED_AT)]
    notes: list[str] = []
    if separator != usual:
        notes.append(f"{path}: its cells are separated by {SEPARATORS.get(separator, repr(separator))}")
    if _is_data(first, following):
        header = [f"column_{n}" for n in range(1, len(first) + 1)]
        notes.append(f"{path}: has no header line; its columns are called {', '.join(header)}")
        records = _records(path, text, separator)
    else:
        header = _header(path, first)
    rows, blank = _rows(path, records, header)
    index = header[0] if header and not (first and first[0].strip()) else ""
    if index and [row.data[index] for row in rows] == [str(n) for n in range(len(rows))]:
        rows = [Row({k: v for k, v in row.data.items() if k != index}, row.where) for row in rows]
        notes.append(f"{path}: its first column only numbers the rows and was left out")
    if blank:
        notes.append(f"{path}: {blank} blank row{'s' if blank > 1 else ''} passed over")
    return ItemFile(rows, tuple(notes))


def _rows(path: Path, records: Iterator[tuple[int, list[str]]], header: Sequence[str]) -> tuple[list[Row], int]:
    rows: list[Row] = []
    blank = 0
    for line, cells in records:
        where = f"{path}, line {line}"
        if not any(cell.strip() for cell in cells):
            blank += bool(cells)
            continue
        while len(cells) > len(header) and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) != len(header):
            raise DataError(
                f"{where}: has {len(cells)} cells, the header has {len(header)}",
                hint="quote cells that contain the separator",
            )
        rows.append(Row(dict(zip(header, cells, strict=True)), where))
    return rows, blank


def _header(path: Path, first: Sequence[str]) -> list[str]:
    header = [name.strip() for name in first]
    while len(header) > 1 and not header[-1]:
        header.pop()
    if header and not header[0] and len(header) > 1:
        header[0] = "column_1"
    if not header or len(set(header)) != len(header) or not all(header):
        raise DataError(f"{path}, line 1: the header must name each column once, got {header!r}")
    return header


def _records(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of each record, blank lines left out. Raises `DataError` naming the line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: not valid CSV: {error}", hint="close and double quotes"
        ) from error


def _tolerant(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """As `_records`, for a look that may not fail."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num, cells


def _announced(text: str) -> tuple[str, int] | None:
    """What a first line `sep=;` says."""
    line = text[:12].split("\n", 1)[0].strip().strip('"')
    return (line[4], 1) if line.lower().startswith("sep=") and len(line) == 5 else None


def _separator(text: str, usual: str) -> str:
    """The separator that gives all rows one width above 1; the usual one where none does."""
    widths: dict[str, list[int]] = {}
    for separator in (usual, *(s for s in SEPARATORS if s != usual)):
        records = [cells for _, cells in islice(_tolerant(text, separator), _LOOKED_AT)]
        widths[separator] = [len(cells) for cells in records]
        if widths[separator] and widths[separator][0] > 1 and len(set(widths[separator])) == 1:
            return separator
    wide = [s for s, found in widths.items() if found and found[0] > 1]
    return wide[0] if wide and not (widths[usual] and widths[usual][0] > 1) else usual


def _is_data(first: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is a row like the others: a number, in a column that holds nothing but numbers."""
    if len(first) < 2 or len(following) < 2:
        return False
    return any(
        _is_number(cell) and all(_is_number(cells[n]) for cells in following if len(cells) > n)
        for n, cell in enumerate(first)
    )


def _is_number(cell: str) -> bool:
    return cell.strip().lstrip("+-").replace(".", "", 1).isdigit()
