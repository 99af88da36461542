"""Rows of published files: Parquet and JSONL streamed, JSON and CSV read; each row knows its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import ConfigError, DataError
from skillopt.envs.data.loading import ITEM_SUFFIXES, Row, parse_json, read_rows

SUFFIXES = (".parquet", *ITEM_SUFFIXES)
_AT_ONCE = 64
"""Rows of a Parquet file in memory: some hold images."""


def records(path: Path, *, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """All rows of one file, in file order. `columns` are those that a Parquet file need be read for. Raises
    `DataError` naming file and place."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, columns)
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


def _parquet(path: Path, columns: Sequence[str] | None) -> Iterator[Row]:
    try:
        module: Any = import_module("pyarrow.parquet")
        fault: Any = import_module("pyarrow").ArrowException
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{path}: reading Parquet needs the package pyarrow", hint='run: pip install "skillopt[data]"'
        ) from error
    number = 0
    try:
        for batch in module.ParquetFile(path).iter_batches(batch_size=_AT_ONCE, columns=columns):
            for raw in batch.to_pylist():
                number += 1
                yield Row(cast("dict[str, Any]", raw), f"{path}, row {number}")
    except (OSError, fault) as error:
        raise DataError(f"{path}: no readable Parquet file: {error}", hint="remove it and run again") from error
