"""promptfoo's assertions: what each says of an answer, with `not-`, weights and the test's threshold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from skillopt.adapters.extra import library
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, parse_json

Test = Callable[[str, JsonValue], bool]
_MOST_FAILURES = 500
"""Brackets that open nothing, after which an answer holds no JSON: repeating one must not take for ever."""


def score(answer: str, item: Mapping[str, Any]) -> Mapping[str, object]:
    """Judge an answer by an item's assertions: passed where all hold, or where their weighted share reaches the
    threshold.

    >>> score("Paris", {"assert": [{"type": "icontains", "value": "paris"}, {"type": "not-equals", "value": ""}]})
    {'hard': 1.0, 'soft': 1.0, 'fail_reason': ''}
    """
    held: list[tuple[float, bool]] = []
    failed: list[str] = []
    for assertion in cast("list[JsonObject]", item["assert"]):
        kind, negated = _kind(assertion)
        value = assertion.get("value")
        right = (
            _python(answer, value, item.get("vars")) if kind == "python" else _TYPES[kind](answer, value)
        ) != negated
        weight = as_number(assertion.get("weight"))
        held.append((1.0 if weight is None else float(weight), right))
        if not right:
            failed.append(f"{assertion['type']} {json.dumps(assertion.get('value'), ensure_ascii=False)[:120]}")
    total = sum(weight for weight, _ in held)
    soft = sum(weight for weight, right in held if right) / total if total else 1.0
    threshold = as_number(item.get("threshold"))
    passed = all(right for weight, right in held if weight) if threshold is None else soft >= threshold
    return {"hard": float(passed), "soft": min(1.0, soft), "fail_reason": "" if passed else "; ".join(failed)}


def check_assertion(assertion: JsonObject, where: str) -> None:
    """Refuse what could not be judged. Raises `ConfigError` with the type's name."""
    kind, _ = _kind(assertion)
    if kind == "javascript":
        raise ConfigError(f"{where}: assert type javascript needs Node", hint="write it as type: python")
    if kind not in _TYPES:
        raise ConfigError(
            f"{where}: assert type {assertion.get('type')!r} is not known", hint=f"known: {', '.join(_TYPES)}"
        )
    if str(assertion.get("value")).startswith("file://"):
        raise ConfigError(f"{where}: {assertion.get('value')}: a file is not read here", hint="write what is in it")
    if assertion.get("transform") is not None:
        raise ConfigError(f"{where}: assert type {kind}: transform is not done here", hint="write it as type: python")
    if kind in ("is-json", "contains-json") and assertion.get("value") is not None:
        if not isinstance(assertion["value"], Mapping):
            raise ConfigError(f"{where}: {kind}: the schema is no mapping", hint="write it as YAML, not as a text")
        library("jsonschema", "promptfoo")
    if kind == "regex":
        try:
            re.compile(str(assertion.get("value")))
        except re.error as error:
            raise ConfigError(f"{where}: regex {assertion.get('value')!r}: {error}") from None
    if kind == "python":
        try:
            compile(_source(assertion.get("value")), where, "exec")
        except SyntaxError as error:
            raise ConfigError(f"{where}: python: {error.msg}", hint="an expression, or lines that return") from None


def _kind(assertion: JsonObject) -> tuple[str, bool]:
    kind = str(assertion.get("type"))
    return (kind[4:], True) if kind.startswith("not-") else (kind, False)


def _texts(value: JsonValue) -> list[str]:
    return (
        [str(one) for one in as_array(value)] if isinstance(value, list) else [s.strip() for s in str(value).split(",")]
    )


def _equals(answer: str, value: JsonValue) -> bool:
    if isinstance(value, (dict, list)):
        found, given = _json(answer)
        return given and found == value
    return answer == str(value)


def _json(answer: str) -> tuple[JsonValue, bool]:
    try:
        return parse_json(answer), True
    except ValueError:
        return None, False


def _is_json(answer: str, value: JsonValue) -> bool:
    found, given = _json(answer)
    if not given or not isinstance(value, Mapping):
        return given
    validator: Any = library("jsonschema", "promptfoo").Draft202012Validator
    return bool(validator(as_object(value)).is_valid(found))


def _contains_json(answer: str, value: JsonValue) -> bool:
    decoder = json.JSONDecoder()
    failures = 0
    for bracket in re.finditer(r"[\[{]", answer):
        try:
            _, end = decoder.raw_decode(answer, bracket.start())
        except (ValueError, RecursionError):
            failures += 1
            if failures == _MOST_FAILURES:
                return False
            continue
        if _is_json(answer[bracket.start() : end], value):
            return True
    return False


def _source(value: JsonValue) -> str:
    """The user's own code as a function."""
    code = str(value).strip()
    lines = code.splitlines()
    body = "\n".join(f"    {line}" for line in lines) if len(lines) > 1 else f"    return {code}"
    return f"def judged(output, context):\n{body}\n"


def _python(answer: str, value: JsonValue, variables: JsonValue = None) -> bool:
    """The user's own code: an expression of `output` and `context["vars"]`, or lines that `return`."""
    names: dict[str, Any] = {"json": json, "re": re}
    exec(_source(value), names)  # the user's own file
    found: Any = names["judged"](answer, {"vars": variables or {}})
    if isinstance(found, Mapping):
        found = cast("JsonObject", found).get("pass", False)
    return bool(found >= 0.5 if isinstance(found, float) else found)


_TYPES: Mapping[str, Test] = {
    "equals": _equals,
    "contains": lambda a, v: str(v) in a,
    "icontains": lambda a, v: str(v).lower() in a.lower(),
    "contains-any": lambda a, v: any(t in a for t in _texts(v)),
    "contains-all": lambda a, v: all(t in a for t in _texts(v)),
    "icontains-any": lambda a, v: any(t.lower() in a.lower() for t in _texts(v)),
    "icontains-all": lambda a, v: all(t.lower() in a.lower() for t in _texts(v)),
    "starts-with": lambda a, v: a.startswith(str(v)),
    "regex": lambda a, v: re.search(str(v), a) is not None,
    "is-json": _is_json,
    "contains-json": _contains_json,
    "python": _python,
    "javascript": lambda a, v: False,
}
