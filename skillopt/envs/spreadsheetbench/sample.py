"""SpreadsheetBench's sample: small tables with one column to fill, four kinds of tasks, two workbooks each.

The second workbook has other values and more rows, so that a program which copies what the preview shows fails on it.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from random import Random
from typing import NamedTuple

from skillopt.core.json_types import JsonObject
from skillopt.core.streams import named

TASKS = 24
_GOODS = ("bolt", "cable", "filter", "gasket", "hinge", "lamp", "pump", "valve")
_MOMENT = re.compile(rb">\d{4}-\d\d-\d\dT[\d:]+Z<")
_FIRST, _LENGTHS = 2, (4, 7)
_BODY = """```python
import openpyxl

book = openpyxl.load_workbook(INPUT_PATH)
sheet = book.active
for row in range(2, sheet.max_row + 1):
    name, count, price = (sheet.cell(row, column).value for column in (1, 2, 3))
    sheet.cell(row, 4).value = {formula}
book.save(OUTPUT_PATH)
```"""


class Kind(NamedTuple):
    """A kind of task: its heading, what is asked, and the value of a row as Python."""

    heading: str
    asked: str
    formula: str


def kinds(limit: int) -> tuple[Kind, ...]:
    """The four kinds, with the number that a task names."""
    flag = f"'low' if count < {limit} else 'ok'"
    return (
        Kind("total", f"write the quantity times the price, plus a fee of {limit}.", f"count * price + {limit}"),
        Kind("flag", f"write 'low' where the quantity is below {limit}, else 'ok'.", flag),
        Kind("label", f"write the article in capital letters, then -{limit}.", f"name.upper() + '-{limit}'"),
        Kind("rest", f"write the quantity minus {limit}, but never less than 0.", f"max(0, count - {limit})"),
    )


def task(number: int) -> tuple[str, Kind]:
    """Instruction and kind of a task."""
    draw = named(23, "spreadsheet task", number)
    kind = kinds(draw.randint(3, 30))[number % 4]
    return f"Order list {number + 100}: in column D {kind.asked}", kind


def solution(number: int) -> str:
    """A right reply."""
    return _BODY.format(formula=task(number)[1].formula)


def write_task(number: int, root: Path) -> JsonObject:
    """Write a task's workbooks below `root`; returns its item."""
    instruction, kind = task(number)
    place = f"spreadsheet/order{number + 100}"
    (root / place).mkdir(parents=True, exist_ok=True)
    for case, length in enumerate(_LENGTHS, start=1):
        rows = table(named(23, "spreadsheet rows", number, case), length)
        for which, filled in (("input", False), ("answer", True)):
            _save(root / place / f"{case}_order{number + 100}_{which}.xlsx", kind, rows, filled=filled)
    return {
        "id": f"order{number + 100}",
        "instruction": instruction,
        "instruction_type": "Cell-Level Manipulation" if number % 2 else "Sheet-Level Manipulation",
        "answer_position": f"Orders!D{_FIRST}:D{_FIRST + max(_LENGTHS) - 1}",
        "spreadsheet_path": place,
    }


def table(draw: Random, length: int) -> list[tuple[str, int, int]]:
    """Rows of article, quantity and price."""
    return [(draw.choice(_GOODS), draw.randint(1, 40), draw.randint(2, 90)) for _ in range(length)]


def _save(path: Path, kind: Kind, rows: list[tuple[str, int, int]], *, filled: bool) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Orders"
    sheet.append(("article", "quantity", "price", kind.heading))
    for name, count, price in rows:
        known = {"name": name, "count": count, "price": price, "max": max}
        sheet.append((name, count, price, eval(kind.formula, known) if filled else None))
    made = io.BytesIO()
    book.save(made)
    path.write_bytes(_timeless(made))


def _timeless(book: io.BytesIO) -> bytes:
    """A workbook without the moment at which it was written: equal bytes every time."""
    out = io.BytesIO()
    with zipfile.ZipFile(book) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in given.namelist():
            content = given.read(name)
            if name == "docProps/core.xml":
                content = _MOMENT.sub(b">2026-01-01T00:00:00Z<", content)
            made.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
