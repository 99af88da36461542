"""Reading item files: JSON in its shapes, JSONL, tables as text, Parquet; plain or packed with gzip.

Every row knows where it stands (`Row.where`), so that an error can name file and place. What is decided on the way
(an encoding, a separator, a header) is a note of the file. A file that is none of these shapes, a key that stands
twice in one object, or a ragged row is a `DataError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.envs.data.decoding import read_text
from skillopt.envs.data.delimited import delimited_rows
from skillopt.envs.data.parquet import parquet_rows
from skillopt.envs.data.rows import ItemFile, Row, parse_json
from skillopt.envs.data.shapes import SHAPES, json_rows, one_row, unwrapped

__all__ = ["ITEM_SUFFIXES", "ItemFile", "Row", "item_files", "parse_json", "read_items", "read_rows", "the_items_file"]

ITEM_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_NOT_ITEMS = {"split_manifest.json"}


def read_rows(path: Path) -> list[Row]:
    """All rows of one file, in file order. Raises `DataError` naming the file and the place."""
    return list(read_items(path).rows)


def read_items(path: Path) -> ItemFile:
    """The rows of one file with what was decided while it was read. Raises `DataError`."""
    suffix = item_suffix(path)
    if suffix == ".parquet":
        return parquet_rows(path)
    if suffix not in ITEM_SUFFIXES and suffix not in _TABLES:
        hint = "export the sheet as CSV" if suffix in (".xlsx", ".xls", ".ods") else SHAPES
        raise DataError(f"{path}: cannot read items from {suffix or 'this kind of file'}", hint=hint)
    decoded = read_text(path)
    notes = (decoded.note,) if decoded.note else ()
    if suffix in _TABLES:
        table = delimited_rows(path, decoded.text, _TABLES[suffix])
        return ItemFile(table.rows, (*notes, *table.notes))
    if suffix in (".jsonl", ".ndjson"):
        return ItemFile(_unwrapped(list(_jsonl_rows(path, decoded.text))), notes)
    try:
        value = parse_json(decoded.text)
    except ValueError as error:
        lines = [line for line in decoded.text.splitlines() if line.strip()]
        if len(lines) > 1 and lines[0].lstrip().startswith("{") and lines[0].rstrip().endswith("}"):
            note = f"{path}: holds one object a line; read as JSONL"
            return ItemFile(_unwrapped(list(_jsonl_rows(path, decoded.text))), (*notes, note))
        raise DataError(f"{path}: not valid JSON: {error}", hint=SHAPES) from error
    return ItemFile(list(json_rows(path, value)), notes)


def item_suffix(path: Path) -> str:
    """The kind of file that a name promises, `.gz` aside."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


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
        raise DataError(f"{directory}: holds {found}", hint="set env.data_path to exactly one file. " + SHAPES)
    return files[0]


def item_files(directory: Path) -> list[Path]:
    """Files that can hold items: JSON before JSONL before CSV, by name within a kind."""
    files = [
        p
        for p in directory.iterdir()
        if p.is_file() and item_suffix(p) in ITEM_SUFFIXES and p.name not in _NOT_ITEMS and not p.name.startswith(".")
    ]
    return sorted(files, key=lambda p: (ITEM_SUFFIXES.index(item_suffix(p)), p.name))


def _jsonl_rows(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: not valid JSON: {error}", hint="one object per line") from error
        yield one_row(entry, f"{path}, line {number}")


def _unwrapped(rows: list[Row]) -> list[Row]:
    return [Row(data, row.where) for data, row in zip(unwrapped([row.data for row in rows]), rows, strict=True)]
