"""Values of Python's libraries as JSON's own: what a data frame, a dataclass or a scorer holds.

Dates become text as ISO 8601 writes them, decimals and NumPy's scalars numbers, arrays and tuples lists, paths and
UUIDs text, members of an enum their value, dataclasses objects. "Not there" (NaN, NaT, NA) is null. What has no such
form (bytes, sets, objects) is left as it is: whoever needs JSON refuses it with its place.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import cast
from uuid import UUID

_NOT_THERE = {"NAType", "NaTType"}
"""How pandas' own classes for a missing value are called; they compare to nothing."""


def plain(value: object) -> object:
    """The value in JSON's terms, where it has any.

    >>> plain({"when": date(2026, 3, 1), "cost": Decimal("2.50"), "at": (1, float("nan"))})
    {'when': '2026-03-01', 'cost': 2.5, 'at': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in cast("Sequence[object]", value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return plain_scalar(value)


def plain_scalar(value: object) -> object:
    """As `plain`, for one value that is no mapping, list or dataclass."""
    if isinstance(value, Enum):
        return plain(value.value)
    if type(value).__name__ in _NOT_THERE:
        return None
    if isinstance(value, (Decimal, Fraction)):
        return _number(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (timedelta, PurePath, UUID)):
        return str(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    listed = getattr(value, "tolist", None)
    if callable(listed) and hasattr(value, "dtype"):  # NumPy, PyTorch and their kind
        return plain(cast("Callable[[], object]", listed)())
    return value


def _number(value: Decimal | Fraction) -> int | float | None:
    if value != value:
        return None
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    return int(value) if value == int(value) else float(value)
