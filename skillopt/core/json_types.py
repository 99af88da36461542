"""JSON as a type: what `json.loads` may return and what `json.dumps` takes, without `Any`.

`JsonValue` is for values that are handed on; `JsonObject` is one object. `parse_json` is `json.loads` with its type.
What came from outside and may have any shape is looked at with `as_object` and `as_array`, which answer with an empty
one where the shape is another; a reader that must not be lenient checks with `isinstance`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union, cast

JsonValue: TypeAlias = Union["JsonObject", "JsonArray", str, int, float, bool, None]
JsonObject: TypeAlias = Mapping[str, "JsonValue"]
JsonArray: TypeAlias = Sequence["JsonValue"]


def parse_json(text: str | bytes) -> JsonValue:
    """The value that a JSON text says. Raises `ValueError` for anything else, also where it is nested too deeply."""
    try:
        return cast("JsonValue", json.loads(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def as_object(value: object) -> dict[str, JsonValue]:
    """A copy of an object; empty for anything else. `as_object([1]) == {}`."""
    return (
        {str(k): v for k, v in cast("Mapping[object, JsonValue]", value).items()} if isinstance(value, Mapping) else {}
    )


def as_array(value: object) -> list[JsonValue]:
    """A copy of an array; empty for anything else, text included. `as_array("ab") == []`."""
    if isinstance(value, (list, tuple)):
        return list(cast("Sequence[JsonValue]", value))
    return []


def as_text(value: object) -> str:
    """A text itself; blank for anything else. `as_text(None) == ""`."""
    return value if isinstance(value, str) else ""


def as_number(value: object) -> float | None:
    """A number as it is; None for anything else, true and false included. `as_number(True) is None`."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def no_constant(name: str) -> float:
    """`parse_constant` for text that strangers wrote: `NaN` and `Infinity` are refused. Raises `ValueError`."""
    raise ValueError(f"{name} is not a JSON number")


def finite(digits: str) -> float:
    """`parse_float` for text that strangers wrote: what no file can hold is refused. Raises `ValueError`."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is larger than any number")
    return value
