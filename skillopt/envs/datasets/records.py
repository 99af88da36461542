"""Rows of published files: Parquet and JSONL streamed, JSON and CSV read; each row knows its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import DataError
from skillopt.envs.data.loading import ITEM_SUFFIXES, Row, parse_json, read_rows
from skillopt.envs.data.parquet import parquet_records

SUFFIXES = ITEM_SUFFIXES


def records(path: Path, *, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """All rows of one file, in file order. `columns` are those that a Parquet file need be read for. Raises
    `DataError` naming file and place."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return parquet_records(path, columns)
    if suffix in (".jsonl", ".ndjson"):
        return _lines(path)
    return iter(read_rows(path))


def _lines(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                value = parse_json(line)
                if not isinstance(value, dict):
                    raise DataError(f"{path}, line {number}: is no object")
                yield Row(cast("dict[str, Any]", value), f"{path}, line {number}")
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON lines: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", hint="check --source") from error
