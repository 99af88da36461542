"""How promptfoo writes values into texts: its templates are Nunjucks', so a value is shown as JavaScript shows it."""

from __future__ import annotations

import itertools
import json
from collections import Counter

from jinja2 import ChainableUndefined, Environment

from skillopt.core.json_types import JsonObject, JsonValue

_NESTED = 5
"""How often variables that name variables are filled in."""


def shown(value: JsonValue) -> str:
    """A value inside a text: nothing for null, `true`, `1` for 1.0, a list with commas, an object as JSON.

    >>> [shown(value) for value in (None, True, 1.0, [1, "a"], {"k": 1})]
    ['', 'true', '1', '1,a', '{"k": 1}']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ",".join(shown(one) for one in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def templates() -> Environment:
    """The templates of a file: a name that is missing is shown as nothing, `dump` is JSON."""
    environment = Environment(autoescape=False, finalize=shown_or_missing, undefined=ChainableUndefined)
    environment.filters["dump"] = _dump  # pyright: ignore[reportUnknownMemberType]
    return environment


def shown_or_missing(value: JsonValue | ChainableUndefined) -> object:
    """Jinja's hook for every `{{ value }}`."""
    return value if isinstance(value, ChainableUndefined) else shown(value)


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def combinations(variables: JsonObject) -> list[JsonObject]:
    """One set of values for each combination of the variables that have several: lists that begin with a text.

    >>> combinations({"a": ["x", "y"], "b": [1, 2]})
    [{'a': 'x', 'b': [1, 2]}, {'a': 'y', 'b': [1, 2]}]
    """
    several = [
        value if isinstance(value, list) and value and isinstance(value[0], str) else [value]
        for value in variables.values()
    ]
    return [dict(zip(variables, values, strict=True)) for values in itertools.product(*several)]


def resolved(variables: JsonObject, environment: Environment) -> JsonObject:
    """The variables with those inside their texts filled in."""
    found: JsonObject = {
        name: value.removesuffix("\n") if isinstance(value, str) else value for name, value in variables.items()
    }
    for _ in range(_NESTED):
        nested = {name: value for name, value in found.items() if isinstance(value, str) and "{{" in value}
        for name, value in nested.items():
            found[name] = environment.from_string(value).render(found)
        if not nested:
            break
    return found


def near(text: str, gold: str, most: int) -> bool:
    """Whether Levenshtein's distance is at most this; it is counted no further.

    >>> near("kitten", "sitting", 3), near("kitten", "sitting", 2)
    (True, False)
    """
    if abs(len(text) - len(gold)) > most:
        return False
    far = most + 1
    row = {column: column for column in range(min(len(gold), most) + 1)}
    for place, letter in enumerate(text, start=1):
        last: dict[int, int] = row
        row = dict[int, int]()
        for column in range(max(0, place - most), min(len(gold), place + most) + 1):
            change = last.get(column - 1, far) + (letter != gold[column - 1]) if column else far
            row[column] = min(change, last.get(column, far) + 1, row.get(column - 1, far) + 1)
    return row.get(len(gold), far) <= most


def named(rows: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Rows whose ids differ: those of one test, or of one description, are counted."""
    often = Counter(str(row["id"]) for row in rows)
    seen: Counter[str] = Counter()
    for row in rows:
        name = str(row["id"])
        seen[name] += 1
        row["id"] = f"{name} ({seen[name]})" if often[name] > 1 else name
    return rows
