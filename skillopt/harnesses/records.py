"""Records, one JSON object a line, read so that one bad line costs one line.

A line that is not JSON, or not an object, is skipped and counted; so is a last line that was cut by a kill. Readers ask
for fields through `text`, `mapping` and `entries`, which give an empty value for whatever has another shape: formats
change between versions, and what is not understood must not end a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from skillopt.core.json_types import JsonObject, JsonValue

Record = JsonObject
EMPTY: Record = {}


@dataclass(frozen=True)
class Records:
    """The objects of a stream in order, and how many other lines there were."""

    rows: tuple[Record, ...] = ()
    bad: int = 0

    def __iter__(self) -> Iterator[Record]:
        return iter(self.rows)


def parse_lines(content: str) -> Records:
    """Read the lines of a text."""
    rows: list[Record] = []
    bad = 0
    for line in content.split("\n"):  # not splitlines: U+2028 and friends stand unescaped inside JSON strings
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            bad += 1
            continue
        if isinstance(value, dict):
            rows.append(cast("dict[str, JsonValue]", value))
        else:
            bad += 1
    return Records(tuple(rows), bad)


def read_file(path: Path) -> Records:
    """Read a file as UTF-8; bytes that are not are replaced. No file, no records."""
    try:
        return parse_lines(path.read_bytes().decode("utf-8", "replace"))
    except OSError:
        return Records()


def read_object(path: Path) -> Record:
    """A file that is one JSON object; an empty one for anything else."""
    try:
        value: object = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, JsonValue]", value) if isinstance(value, dict) else {}


def text(record: Record, name: str) -> str:
    """A field that should be text; "" when it is anything else."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def mapping(record: Record, *path: str) -> Record:
    """A field, or a field of a field, that should be an object; an empty one when it is anything else."""
    found: Any = record
    for name in path:
        found = cast("Record", found).get(name) if isinstance(found, dict) else None
    return cast("Record", found) if isinstance(found, dict) else {}


def entries(record: Record, name: str) -> tuple[Record, ...]:
    """A field that should be a list of objects; what else is in it is left out."""
    value = record.get(name)
    if not isinstance(value, list):
        return ()
    return tuple(cast("Record", entry) for entry in value if isinstance(entry, dict))


def joined(record: Record, name: str, *, within: str = "text") -> str:
    """A field that is text, or a list of blocks with text in them."""
    plain = text(record, name)
    return plain or "\n".join(part for part in (text(block, within) for block in entries(record, name)) if part)


def as_call(arguments: Any, command: str = "") -> str:
    """A tool's arguments on one line: the command of a shell tool as it stands, everything else as JSON."""
    if isinstance(arguments, str):
        try:
            parsed: Any = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
        if not isinstance(parsed, dict):
            return arguments
        arguments = cast("Any", parsed)
    if isinstance(arguments, dict):
        own = cast("dict[str, JsonValue]", arguments)
        for name in (command, "command", "cmd"):
            value = own.get(name) if name else None
            if isinstance(value, str):
                return value
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)
