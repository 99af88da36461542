"""A row of promptfoo's CSV of tests: `__expected` and its like are assertions, the other columns variables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.json_types import JsonObject, JsonValue

_ASSERTION = re.compile(
    r"(?s)(?P<type>(?:not-)?[a-z][a-z:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>.*))?"
)


def csv_tests(file: Path, known: frozenset[str]) -> list[JsonObject]:
    """The tests of a CSV file. Raises `DataError` or `ConfigError`, one line."""
    try:
        rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"), newline=""), strict=True))
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    tests: list[JsonObject] = []
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise DataError(f"{file}: row {number} has not as many cells as the first line", hint="quote cells")
        tests.append({"description": f"Row #{number}", **_test(row, f"{file}: row {number}", known)})
    return tests


def _test(row: Mapping[str, str], where: str, known: frozenset[str]) -> JsonObject:
    variables: JsonObject = {}
    options: JsonObject = {}
    asserts: list[JsonObject] = []
    found: JsonObject = {}
    thresholds: dict[int, float] = {}
    for key, cell in ((key.strip(), cell) for key, cell in row.items()):
        if key.startswith("__expected"):
            asserts += [_assertion(cell.strip(), known)] if cell.strip() else []
        elif key in ("__prefix", "__suffix"):
            options[key[2:]] = cell
        elif key == "__description":
            found |= {"description": cell} if cell else {}
        elif key == "__threshold":
            found |= {"threshold": _number(cell, f"{where}: {key}")} if cell.strip() else {}
        elif key.startswith("__config:"):
            place = re.fullmatch(r"__config:__expected(\d*):threshold", key)
            if place is None:
                raise ConfigError(f"{where}: column {key} is not known", hint="__config:__expected1:threshold is")
            if cell.strip():
                thresholds[int(place[1] or 1) - 1] = _number(cell, f"{where}: {key}")
        elif key.startswith("__metadata") or key == "__metric":
            continue
        elif key.startswith("__"):
            raise ConfigError(f"{where}: column {key} is not read here", hint="leave it out")
        else:
            variables[key] = cell
    for place, least in thresholds.items():
        if place < len(asserts):
            asserts[place] = {**asserts[place], "threshold": least}
    given: list[JsonValue] = [*asserts]
    return {**found, "vars": variables, "assert": given, "options": options}


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ConfigError(f"{where}: {cell!r} is no number") from None


def _assertion(text: str, known: frozenset[str]) -> JsonObject:
    """`type(threshold): value` of a cell; what names no type is the answer itself."""
    for short, kind in (("fn:", "javascript"), ("eval:", "javascript"), ("grade:", "llm-rubric")):
        if text.startswith(short):
            return {"type": kind, "value": text.removeprefix(short).strip()}
    if text.startswith("file://"):
        return {"type": "python" if re.search(r"\.py(:\w+)?$", text) else "javascript", "value": text}
    match = _ASSERTION.fullmatch(text)
    if match is None or match["type"].removeprefix("not-") not in known:
        return {"type": "equals", "value": text}
    found: JsonObject = {"type": match["type"], "value": match["value"] and match["value"].strip()}
    if match["threshold"] or match["type"].endswith("levenshtein"):
        found["threshold"] = float(match["threshold"] or 0.75)
    return found
