"""Rows of Parquet files, streamed (extra `data`). Dates become text, decimals numbers; bytes are no field of a task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import ConfigError, DataError
from skillopt.envs.data.plain import plain
from skillopt.envs.data.rows import ItemFile, Row

_AT_ONCE = 64
"""Rows in memory at a time: some hold images."""


def parquet_records(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """All rows as the file holds them. `columns` are those that it need be read for. Raises `DataError`."""
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
        said = " ".join(str(error).split())
        raise DataError(f"{path}: no readable Parquet file: {said}", hint="remove it and run again") from error


def parquet_rows(path: Path) -> ItemFile:
    """All rows in JSON's own values."""
    rows: list[Row] = []
    dropped: dict[str, None] = {}
    for row in parquet_records(path):
        data: dict[str, Any] = {}
        for name, value in row.data.items():
            if _holds_bytes(value):
                dropped[name] = None
            elif name != "__index_level_0__":  # the index of a data frame
                data[name] = _finite(plain(value))
        rows.append(Row(data, row.where))
    left_out = f"{path}: left out, because they hold bytes: {', '.join(dropped)}"
    return ItemFile(rows, (left_out,) if dropped else ())


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_bytes(inner) for inner in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(_holds_bytes(inner) for inner in cast("list[Any]", value)[:1])
    return isinstance(value, (bytes, bytearray))


def _finite(value: object) -> object:
    """What is beyond all numbers is no value of a task."""
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in cast("Sequence[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
