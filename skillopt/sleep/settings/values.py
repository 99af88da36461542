"""One value of one key: from JSON or from text, checked against the key's type and bounds.

A wrong value raises `SettingsError` with place, key and value on one line; nothing is guessed. Text (a flag, a
variable) is turned into the key's type first; lists in it are separated by commas.
"""

from __future__ import annotations

import difflib
import math
from pathlib import Path
from typing import get_type_hints

from skillopt.core.json_types import JsonValue
from skillopt.sleep.errors import SettingsError
from skillopt.sleep.settings.schema import ALIASES, DEFAULTS, FACTS, KeyFacts, Settings

Value = str | bool | int | float | tuple[str, ...] | None
_OFF = {"none": "off", "false": "off", "greedy": "off", "true": "on"}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_TYPES = {n: hint.__name__ if isinstance(hint, type) else str(hint) for n, hint in get_type_hints(Settings).items()}


def canonical(name: str, where: str) -> str:
    """The key's own name. Raises `SettingsError` naming the nearest valid one."""
    if name in FACTS:
        return name
    if name in ALIASES:
        return ALIASES[name]
    near = difflib.get_close_matches(name, [*FACTS, *ALIASES], n=1, cutoff=0.5)
    raise SettingsError(
        f"{where}: unknown key {name!r}", hint=f"did you mean {near[0]!r}?" if near else "see docs/sleep/README.md"
    )


def checked(name: str, value: JsonValue, where: str, *, written: str = "") -> Value:
    """`value` of the key `name` as `Settings` holds it; `written` is the alias it was given under."""
    found, facts = _typed(name, value, where, written), FACTS[name]
    if facts.unbuilt and found != getattr(DEFAULTS, name):
        raise SettingsError(
            f"{where}: {name} is {value!r}, and {facts.unbuilt} is not built",
            hint=f"leave it out; the default is {getattr(DEFAULTS, name)!r}",
        )
    return found


def _typed(name: str, value: JsonValue, where: str, written: str) -> Value:
    facts, kind = FACTS[name], _TYPES[name]
    if name == "gate_mode":
        word = str(value).lower() if isinstance(value, (str, bool)) or value is None else ""
        value = _OFF.get(word, word)
    if written == "gate_no_regression" and isinstance(value, bool):
        if not value:
            raise _wrong(name, value, where, "say gate_regression_budget with a number of tasks")
        value = 0
    if "tuple" in kind:
        return _listed(name, value, where, facts)
    if value is None and "None" in kind:
        return None
    if kind == "bool":
        if not isinstance(value, bool):
            raise _wrong(name, value, where, "true or false")
        return value
    if kind.startswith(("int", "float")):
        return _number(name, value, where, facts, whole=kind.startswith("int"))
    if not isinstance(value, str):
        raise _wrong(name, value, where, "a text")
    return _word(name, value, where, facts)


def from_text(name: str, text: str, where: str) -> Value:
    """The value that a flag or a variable says."""
    kind = _TYPES[name]
    if kind == "bool":
        word = text.strip().lower()
        if word not in _TRUE + _FALSE:
            raise _wrong(name, text, where, "true or false")
        return word in _TRUE
    if kind.startswith(("int", "float")):
        try:
            return checked(name, int(text) if kind.startswith("int") else float(text), where)
        except ValueError:
            raise _wrong(name, text, where, "a whole number" if kind.startswith("int") else "a number") from None
    if "tuple" in kind:
        return checked(name, [part.strip() for part in text.split(",") if part.strip()], where)
    return checked(name, text, where)


def _number(name: str, value: JsonValue, where: str, facts: KeyFacts, *, whole: bool) -> int | float:
    right = isinstance(value, int) if whole else isinstance(value, (int, float))
    if not right or isinstance(value, bool):
        raise _wrong(name, value, where, "a whole number" if whole else "a number")
    number = value if whole and isinstance(value, int) else float(str(value))
    low, high = facts.low, facts.high
    if not math.isfinite(number) or (low is not None and number < low) or (high is not None and number > high):
        bounds = f"between {low:g} and {high:g}" if low is not None and high is not None else f"at least {low or 0:g}"
        raise _wrong(name, value, where, f"a number {bounds}")
    return number


def _listed(name: str, value: JsonValue, where: str, facts: KeyFacts) -> tuple[str, ...]:
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise _wrong(name, value, where, "a text or a list of texts")
    return tuple(_word(name, part, where, facts) for part in parts if isinstance(part, str))


def _word(name: str, value: str, where: str, facts: KeyFacts) -> str:
    if facts.choices and value not in facts.choices:
        near = difflib.get_close_matches(value, facts.choices, n=1, cutoff=0.5)
        names = ", ".join(choice for choice in facts.choices if choice)
        raise _wrong(name, value, where, f"one of {names}" + (f"; did you mean {near[0]!r}" if near else ""))
    return str(Path(value).expanduser()) if facts.path and value.startswith("~") else value


def _wrong(name: str, value: object, where: str, wanted: str) -> SettingsError:
    return SettingsError(f"{where}: {name} is {value!r}", hint=f"it must be {wanted}")
