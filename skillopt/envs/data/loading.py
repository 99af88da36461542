"""Reading item files: JSON array, JSONL, CSV/TSV, an object with `data`, or an object of items.

Every row knows where it stands (`Row.where`), so that an error can name file and place. Nothing is guessed: a file that
is not one of these shapes, a key that stands twice in one object, or a ragged CSV row is a `DataError`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import DataError

ITEM_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv")
_NOT_ITEMS = {"split_manifest.json"}


@dataclass(frozen=True)
class Row:
    """One raw item and its place, for example `data/train/items.json, item 3`."""

    data: Mapping[str, Any]
    where: str

    def fault(self, problem: str, *, hint: str = "") -> DataError:
        """A `DataError` that starts with the place (and the id, when there is one)."""
        name = self.data.get("id")
        return DataError(f"{self.where}{'' if name is None else f' (id {name!r})'}: {problem}", hint=hint)

    def identifier(self, name: str = "id") -> str | None:
        """The opaque id as text; None when absent. Whole numbers are accepted, blank text is refused."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            raise self.fault(f"field {name!r} must be text or a whole number, got {value!r}")
        return str(value)

    def text(self, name: str, *, hint: str = "", blank: bool = False) -> str:
        """A required text field."""
        value = self.data.get(name)
        if not isinstance(value, str):
            problem = "is missing" if value is None else f"must be text, got {type(value).__name__}"
            raise self.fault(f"field {name!r} {problem}", hint=hint)
        if not blank and not value.strip():
            raise self.fault(f"field {name!r} is blank", hint=hint)
        return value


def read_rows(path: Path) -> list[Row]:
    """All rows of one file, in file order. Raises `DataError` naming the file and the place."""
    suffix = path.suffix.lower()
    if suffix not in ITEM_SUFFIXES:
        raise DataError(f"{path}: cannot read items from {suffix or 'this kind of file'}", hint=_SHAPES)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})", hint="save the file as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    if suffix in (".csv", ".tsv"):
        return list(_csv_rows(path, text, "\t" if suffix == ".tsv" else ","))
    if suffix in (".jsonl", ".ndjson"):
        return list(_jsonl_rows(path, text))
    return list(_json_rows(path, text))


def the_items_file(directory: Path) -> Path:
    """The only item file of a raw-data directory. Refuses several, none, and a directory that is already split."""
    splits = sorted(p.name for p in directory.iterdir() if p.is_dir() and p.name in ("train", "val", "test"))
    if splits:
        raise DataError(
            f"{directory}: holds the split folders {', '.join(splits)}",
            hint=f"set env.split_mode=split_dir and env.split_dir={directory}",
        )
    files = item_files(directory)
    if len(files) != 1:
        found = "no item file" if not files else f"{len(files)} item files ({', '.join(f.name for f in files[:4])})"
        raise DataError(f"{directory}: holds {found}", hint="set env.data_path to exactly one file. " + _SHAPES)
    return files[0]


def item_files(directory: Path) -> list[Path]:
    """Files that can hold items: JSON before JSONL before CSV, by name within a kind."""
    files = [
        p
        for p in directory.iterdir()
        if p.is_file() and p.suffix.lower() in ITEM_SUFFIXES and p.name not in _NOT_ITEMS and not p.name.startswith(".")
    ]
    return sorted(files, key=lambda p: (ITEM_SUFFIXES.index(p.suffix.lower()), p.name))


_SHAPES = (
    "items are a JSON array, JSONL, CSV, an object that holds one list of them (such as 'data'), or an object of items"
)


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN or infinity, no key twice in one object. Raises `ValueError`."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} stands twice in one object")
            seen.add(key)
    return out


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}", hint=_SHAPES) from error
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value)
        lists = [name for name, inner in value.items() if _is_items(inner)]
        if "data" in value and isinstance(value["data"], list):
            value = cast("list[Any]", value["data"])
        elif len(lists) == 1:  # published sets wrap their items: {"canary": …, "examples": […]}
            value = cast("list[Any]", value[lists[0]])
        else:
            yield from _named_rows(path, value)
            return
    if not isinstance(value, list):
        raise DataError(f"{path}: holds {type(value).__name__}, not items", hint=_SHAPES)
    for index, entry in enumerate(cast("list[Any]", value), start=1):
        yield _row(entry, f"{path}, item {index}")


def _is_items(value: Any) -> bool:
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(entries) and all(isinstance(entry, dict) for entry in entries)


def _named_rows(path: Path, value: dict[str, Any]) -> Iterator[Row]:
    """Rows of an object of items; the key is the id of an item that has none of its own."""
    for key, entry in value.items():
        row = _row(entry, f"{path}, item {key!r}")
        yield row if "id" in row.data else Row({"id": key, **row.data}, row.where)


def _jsonl_rows(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: not valid JSON: {error}", hint="one object per line") from error
        yield _row(entry, f"{path}, line {number}")


def _row(entry: Any, where: str) -> Row:
    if not isinstance(entry, dict):
        raise DataError(f"{where}: must be an object with named fields, got {type(entry).__name__}", hint=_SHAPES)
    return Row(cast("dict[str, Any]", entry), where)


def _csv_rows(path: Path, text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        first = next(reader, list[str]())
        header = [name.strip() for name in first]
        if not header or len(set(header)) != len(header) or not all(header):
            raise DataError(f"{path}, line 1: the header must name each column once, got {header!r}")
        for cells in reader:
            if not cells:
                continue
            where = f"{path}, line {reader.line_num}"
            if len(cells) != len(header):
                raise DataError(
                    f"{where}: has {len(cells)} cells, the header has {len(header)}",
                    hint="quote cells that contain the separator",
                )
            yield Row(dict(zip(header, cells, strict=True)), where)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not valid CSV: {error}") from error
