"""Fields of an item by name, also inside others: `answers.text` is the field `text` of the field `answers`.

A name that stands in the item as it is, dots and all, is that field. Behind a list, a name is asked of each entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from skillopt.core.json_types import JsonValue


def value_at(data: Mapping[str, Any], path: str) -> Any:
    """What stands there; None where nothing does.

    >>> value_at({"answers": {"text": ["blue"]}}, "answers.text")
    ['blue']
    >>> value_at({"turns": [{"role": "user"}, {"role": "assistant"}]}, "turns.role")
    ['user', 'assistant']
    """
    if path in data:
        return data[path]
    name, dot, rest = path.partition(".")
    inner: Any = data.get(name)
    if not dot or inner is None:
        return None
    if isinstance(inner, Mapping):
        return value_at(cast("Mapping[str, Any]", inner), rest)
    if isinstance(inner, list):
        entries = [cast("Mapping[str, Any]", entry) for entry in cast("list[Any]", inner) if isinstance(entry, Mapping)]
        found = [value for entry in entries if (value := value_at(entry, rest)) is not None]
        return found or None
    return None


def root_of(path: str) -> str:
    """The field of the item that a path begins with.

    >>> root_of("answers.text")
    'answers'
    """
    return path.partition(".")[0]


def shown_value(value: JsonValue) -> str:
    """A value as a prompt shows it: text as it is, anything else as JSON, null left out."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(without_nulls(value), ensure_ascii=False)


def without_nulls(value: JsonValue) -> JsonValue:
    """The value without the fields that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value
