"""SpreadsheetBench items: `{id, instruction, instruction_type, answer_position, answer_sheet?, spreadsheet_path}`.

Test cases are pairs of workbooks in the item's directory under `env.data_root`: `1_ID_input.xlsx` / `1_ID_answer.xlsx`,
`1_ID_init.xlsx` / `1_ID_golden.xlsx`, or one pair `initial.xlsx` / `golden.xlsx`. They are found at load and kept with
their digests, so that a changed workbook is another item; a relative path means the same wherever the data lies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, as_object, as_text
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source
from skillopt.envs.datasets.dataset import command
from skillopt.envs.spreadsheetbench.position import parse_position

MATERIALISE = command("spreadsheetbench")
_HINT = (
    "a SpreadsheetBench item is {id, instruction, instruction_type, answer_position, spreadsheet_path}; an id manifest"
    f" is filled by: {MATERIALISE}"
)
_TYPES = {"Cell-Level Manipulation": "cell_level", "Sheet-Level Manipulation": "sheet_level"}
_PAIRS = (("_input.xlsx", "_answer.xlsx"), ("_init.xlsx", "_golden.xlsx"))
_FIELDS = ("instruction", "instruction_type", "answer_position", "answer_sheet", "spreadsheet_path", "data_position")


@dataclass(frozen=True)
class Case:
    """A test case: its number, and both workbooks relative to the data's root."""

    number: str
    given: str
    gold: str

    def to_json(self, root: Path) -> dict[str, JsonValue]:
        """As the item keeps it. Raises `OSError`."""
        content = b"".join((root / name).read_bytes() for name in (self.given, self.gold))
        digest = hashlib.sha256(content).hexdigest()[:16]
        return {"number": self.number, "input": self.given, "gold": self.gold, "sha256": digest}


def source(data_root: str) -> Source:
    """The loader of items whose workbooks lie under `data_root`."""
    root = Path(data_root)
    return Source(
        to_item=lambda row: to_item(row, root), text=lambda i: str(i.data["instruction"]), materialise=MATERIALISE
    )


def to_item(row: Row, root: Path) -> Item:
    """Check one row and find its test cases. Raises `DataError` naming file, place, field and what to do."""
    item_id = row.identifier()
    if item_id is None:
        raise row.fault("field 'id' is missing", hint=_HINT)
    row.text("instruction", hint=_HINT)
    place = row.text("spreadsheet_path", hint=_HINT)
    position = row.text("answer_position", hint=_HINT)
    sheet = as_text(row.data.get("answer_sheet")).strip()
    if sheet and "!" not in position:
        bare = sheet.strip("'").replace("'", "''")
        position = f"'{bare}'!{position}"
    try:
        parse_position(position)
    except ValueError as error:
        raise row.fault(f"answer_position={position!r}: {error}", hint="correct the item") from error
    if Path(place).is_absolute() or ".." in Path(place).parts:
        raise row.fault(f"spreadsheet_path={place!r} leads out of env.data_root")
    data: dict[str, JsonValue] = {"id": item_id, **{name: row.data[name] for name in _FIELDS if name in row.data}}
    data["position"] = position
    try:
        data["cases"] = [case.to_json(root) for case in find_cases(root, place)]
    except OSError as error:
        raise row.fault(f"{error.filename}: {error.strerror}", hint=_root_hint(root)) from error
    kind = _TYPES.get(as_text(row.data.get("instruction_type")), "other")
    return Item(item_id, data, kind)


def find_cases(root: Path, place: str) -> list[Case]:
    """Test cases of an item's directory, by number; empty without one. Raises `OSError` for a directory that is not
    there."""
    folder = root / place
    names = {path.name for path in folder.iterdir()}
    for given, gold in _PAIRS:
        numbers = sorted({n.split("_", 1)[0] for n in names if n.endswith(given)}, key=_in_order)
        found = [Case(number, n, _gold_of(n, given, gold)) for number in numbers
                 for n in sorted(names) if n.startswith(f"{number}_") and n.endswith(given)]  # fmt: skip
        found = [case for case in found if case.gold in names]
        if found:
            return [Case(case.number, f"{place}/{case.given}", f"{place}/{case.gold}") for case in found]
    if {"initial.xlsx", "golden.xlsx"} <= names:
        return [Case("1", f"{place}/initial.xlsx", f"{place}/golden.xlsx")]
    return []


def cases_of(item: Item) -> list[Case]:
    """The test cases of an item, in order."""
    rows = [as_object(entry) for entry in as_array(item.data.get("cases"))]
    return [Case(as_text(r.get("number")), as_text(r.get("input")), as_text(r.get("gold"))) for r in rows]


def check_root(data_root: str) -> None:
    """Raises `DataError` where the workbooks' root is not there."""
    root = Path(data_root)
    if not data_root.strip() or not root.is_dir():
        raise DataError(f"env.data_root={data_root}: no such directory", hint=_root_hint(root))


def _gold_of(name: str, given: str, gold: str) -> str:
    return name[: -len(given)] + gold


def _in_order(number: str) -> tuple[int, str]:
    return (int(number) if number.isdigit() else 1 << 30, number)


def _root_hint(root: Path) -> str:
    return f"env.data_root ({root}) holds the workbooks; they are fetched by: {MATERIALISE}"
