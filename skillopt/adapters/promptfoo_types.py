"""promptfoo's assertions that compare texts: each type with what it says of an answer, and which values it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from skillopt.adapters.extra import library
from skillopt.adapters.promptfoo_text import near, shown
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, parse_json

_MOST_FAILURES = 500
"""Brackets that open nothing, after which an answer holds no JSON: repeating one must not take for ever."""
_EDITS = 5
_WITHOUT_VALUE = ("is-json", "contains-json", "is-xml", "contains-xml", "equals")


def check_value(kind: str, assertion: JsonObject, where: str) -> None:
    """Refuse a value that the type cannot compare with. Raises `ConfigError`, one line."""
    value = assertion.get("value")
    if value in (None, "", []) and kind not in _WITHOUT_VALUE:
        raise ConfigError(f"{where}: {kind} without a value", hint="every answer, or none, would pass")
    if kind in ("is-json", "contains-json") and value:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {kind}: the schema is no mapping", hint="write it as YAML")
        library("jsonschema", "promptfoo")
    if kind == "word-count" and not isinstance(value, Mapping) and _number(value) is None:
        raise ConfigError(f"{where}: word-count {value!r} is no number", hint="a number, or {min, max}")
    if kind == "regex":
        try:
            re.compile(_pattern(value))
        except re.error as error:
            raise ConfigError(f"{where}: regex {shown(value)!r}: {error}") from None


def _number(value: JsonValue) -> float | None:
    try:
        return float(shown(value))
    except ValueError:
        return None


def _texts(assertion: JsonObject, lower: bool = False) -> list[str]:
    value = assertion.get("value")
    if isinstance(value, list):
        texts = [shown(one) for one in as_array(value)]
    else:
        fields = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,\s][^,]*)', shown(value))
        texts = [re.sub(r"\\(.)", r"\1", quoted) if quoted else plain.strip() for quoted, plain in fields]
    return [text.lower() for text in texts] if lower else texts


def _pattern(value: JsonValue) -> str:
    """JavaScript's spelling of a named group as Python's."""
    return re.sub(r"\(\?<(?![=!])", "(?P<", shown(value))


def _equals(answer: str, assertion: JsonObject) -> bool:
    value = assertion.get("value")
    if isinstance(value, (dict, list)):
        found, given = _json(answer)
        return given and found == value
    return answer == shown(value)


def _json(answer: str) -> tuple[JsonValue, bool]:
    try:
        return parse_json(answer), True
    except ValueError:
        return None, False


def _is_json(answer: str, assertion: JsonObject) -> bool:
    found, given = _json(answer)
    schema = assertion.get("value")
    if not given or not schema:
        return given
    validator: Any = library("jsonschema", "promptfoo").Draft202012Validator
    return bool(validator(as_object(schema)).is_valid(found))


def _contains_json(answer: str, assertion: JsonObject) -> bool:
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
        if _is_json(answer[bracket.start() : end], assertion):
            return True
    return False


def _xml(answer: str, assertion: JsonObject) -> bool:
    """Whether it is XML with the elements named, each a path from the root with dots."""
    try:
        root = ElementTree.fromstring(answer)
    except (ElementTree.ParseError, ValueError):
        return False
    around = ElementTree.Element("around")
    around.append(root)
    wanted = _texts(assertion) if assertion.get("value") else []
    return all(around.find(path.replace(".", "/")) is not None for path in wanted)


def _contains_xml(answer: str, assertion: JsonObject) -> bool:
    start, end = answer.find("<"), answer.rfind(">")
    return start >= 0 and _xml(answer[start : end + 1], assertion)


def _words(answer: str, assertion: JsonObject) -> bool:
    value, count = assertion.get("value"), len(answer.split())
    if isinstance(value, Mapping):
        least, most = _number(as_object(value).get("min")), _number(as_object(value).get("max"))
        return (least is None or count >= least) and (most is None or count <= most)
    return count == _number(value)


def _near(answer: str, assertion: JsonObject) -> bool:
    most = as_number(assertion.get("threshold"))
    return near(answer, shown(assertion.get("value")), int(_EDITS if most is None else most))


Test = Callable[[str, JsonObject], bool]
TYPES: Mapping[str, Test] = {
    "equals": _equals,
    "contains": lambda a, v: shown(v.get("value")) in a,
    "icontains": lambda a, v: shown(v.get("value")).lower() in a.lower(),
    "contains-any": lambda a, v: any(t in a for t in _texts(v)),
    "contains-all": lambda a, v: all(t in a for t in _texts(v)),
    "icontains-any": lambda a, v: any(t in a.lower() for t in _texts(v, lower=True)),
    "icontains-all": lambda a, v: all(t in a.lower() for t in _texts(v, lower=True)),
    "starts-with": lambda a, v: a.startswith(shown(v.get("value"))),
    "regex": lambda a, v: re.search(_pattern(v.get("value")), a) is not None,
    "word-count": _words,
    "levenshtein": _near,
    "is-json": _is_json,
    "contains-json": _contains_json,
    "is-xml": _xml,
    "contains-xml": _contains_xml,
}
