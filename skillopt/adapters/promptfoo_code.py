"""promptfoo's assertions that are Python: an expression, lines that return, or a function of a file that was read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_number

Judged = tuple[bool, float]
"""Whether an assertion holds, and its score."""


def check_code(assertion: JsonObject, where: str) -> None:
    """Refuse code that is none. Raises `ConfigError`, one line."""
    try:
        compile(_source(assertion), where, "exec")
    except (SyntaxError, ValueError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ConfigError(f"{where}: python: {said}", hint="an expression, or lines that return") from None


def judged_by_code(answer: str, assertion: JsonObject, variables: JsonValue) -> Judged:
    """What the user's own code says: a bool, a number (right above 0 or from `threshold`), or `{pass, score}`.

    >>> judged_by_code("abc", {"value": "len(output) / 4", "threshold": 0.7}, {})
    (True, 0.75)
    """
    names: dict[str, Any] = {"json": json, "re": re}
    exec(_source(assertion), names)  # the user's own file
    found: JsonValue = names[str(assertion.get("function") or "judged")](answer, {"vars": variables or {}})
    least = as_number(assertion.get("threshold"))
    if isinstance(found, str):
        found = _said(found)
    if isinstance(found, Mapping):
        right = bool(found.get("pass", found.get("pass_", False)))
        score = as_number(found.get("score"))
        points = float(right) if score is None else float(score)
        return right and (least is None or points >= least), points
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return (found > 0 if least is None else found >= least), float(found)
    return bool(found), float(bool(found))


def _said(text: str) -> JsonValue:
    """A text that stands for a bool, a number or an object."""
    try:
        return cast("JsonValue", json.loads(text.lower() if text.lower() in ("true", "false") else text))
    except (ValueError, RecursionError):
        raise ConfigError(f"python returned the text {text[:80]!r}", hint="return a bool, a number or {pass}") from None


def _source(assertion: JsonObject) -> str:
    """The user's own code as a function, or as the module that it is."""
    code = str(assertion.get("value"))
    if assertion.get("function"):
        return code
    lines = code.strip().splitlines()
    body = "\n".join(f"    {line}" for line in lines) if len(lines) > 1 else f"    return {code.strip()}"
    return f"def judged(output, context):\n{body}\n"
