"""What the target sees of a workbook: of each sheet its size and the first cells. Opened once a file."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path

from skillopt.core.shorten import shorten

ROWS, COLUMNS, LONGEST = 5, 20, 40
_KEPT = 512


def preview(path: Path) -> str:
    """The preview of a workbook. Raises `OSError` saying why a file cannot be shown."""
    return _preview(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=_KEPT)
def _preview(path: str, _mtime: int) -> str:
    import openpyxl

    from skillopt.envs.spreadsheetbench.position import cell_name

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path)
    except Exception as error:
        raise OSError(f"{path}: is no workbook ({type(error).__name__}: {shorten(str(error), 120)})") from error
    blocks: list[str] = []
    for sheet in book.worksheets:
        rows, columns = sheet.max_row, sheet.max_column
        lines = [f"Sheet {sheet.title!r}: {rows} rows × {columns} columns"]
        shown = sheet.iter_rows(max_row=min(ROWS, rows), max_col=min(COLUMNS, columns), values_only=True)
        for number, row in enumerate(shown, start=1):
            cells = [f"{cell_name(at, number)}={_cell(v)}" for at, v in enumerate(row, start=1) if v is not None]
            if cells:
                lines.append("  " + ", ".join(cells))
        if rows > ROWS:
            lines.append(f"  … {rows - ROWS} more rows")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _cell(value: object) -> str:
    return shorten(str(value).replace("\n", " "), LONGEST)
