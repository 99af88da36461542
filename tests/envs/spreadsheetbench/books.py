"""A small data set on disk: two tasks with two workbooks each, and the environment that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl

from skillopt.core.item import Item
from skillopt.envs.spreadsheetbench.adapter import SpreadsheetBenchEnv, SpreadsheetSettings
from tests.envs.conftest import Config, write

DOUBLE = """import re, zipfile
LAST, FACTOR = 99, 2

def doubled(cell):
    value = FACTOR * int(cell[2])
    return cell[0] + (b'<c r="B%s"><v>%d</v></c>' % (cell[1], value) if int(cell[1]) <= LAST else b"")

with zipfile.ZipFile(INPUT_PATH) as given, zipfile.ZipFile(OUTPUT_PATH, "w") as made:
    for name in given.namelist():
        content = given.read(name)
        if name.endswith("sheet1.xml"):
            content = re.sub(rb'<c r="A(\\d+)" t="n"><v>(\\d+)</v></c>', doubled, content)
        made.writestr(name, content)
"""
"""Without openpyxl, whose import would take most of the tests' time."""
FIRST_ROW_ONLY = DOUBLE.replace("99", "2")
WITH_OPENPYXL = """import openpyxl
book = openpyxl.load_workbook(INPUT_PATH)
sheet = book.active
for row in range(2, sheet.max_row + 1):
    sheet.cell(row, 2).value = sheet.cell(row, 1).value * 2
book.save(OUTPUT_PATH)
"""


def fenced(code: str) -> str:
    return f"Here it is:\n\n```python\n{code}\n```\n"


def workbook(path: Path, rows: list[tuple[Any, ...]], *, title: str = "Data") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def data_set(root: Path, *, tasks: int = 10) -> Path:
    """Column B is to be twice column A; the second workbook is longer. Returns the items' file."""
    items: list[dict[str, Any]] = []
    for task in range(tasks):
        for case, length in ((1, 2), (2, 4)):
            numbers = [task + 1 + n for n in range(length)]
            stem = root / "spreadsheet" / f"t{task}" / f"{case}_t{task}"
            workbook(Path(f"{stem}_input.xlsx"), [("number", "double"), *((n,) for n in numbers)])
            workbook(Path(f"{stem}_answer.xlsx"), [("number", "double"), *((n, 2 * n) for n in numbers)])
        items.append({"id": f"t{task}", "instruction": f"Double column A in column B ({task}).",
                      "instruction_type": "Cell-Level Manipulation", "answer_position": "B2:B5",
                      "spreadsheet_path": f"spreadsheet/t{task}"})  # fmt: skip
    return write(root / "dataset.json", items)


def env_of(root: Path, *, max_turns: int = 3, **settings: Any) -> SpreadsheetBenchEnv:
    config = Config(name="spreadsheetbench", data_path=str(root / "dataset.json"), max_turns=max_turns)
    return SpreadsheetBenchEnv(config, SpreadsheetSettings(data_root=str(root), **settings))


def first_item(env: SpreadsheetBenchEnv) -> Item:
    return env.load().train[0]
