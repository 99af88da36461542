"""Values: text to value by the field's type, and the checks that types alone do not make.

Text is never guessed at. The field decides: a text field keeps `null`, `true` and `1e-3` as they stand, a nullable
number reads `null`, a list or map field reads YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from skillopt.config.keys import KeySpec
from skillopt.config.sources.yaml_file import parse_value
from skillopt.config.suggestions import nearest
from skillopt.core.errors import ConfigError

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
MASK = "********"


def from_text(spec: KeySpec, text: str, *, where: str, inside: bool = False) -> object:
    """The value that `text` means for this key, or for a place `inside` its map. Raises `ConfigError`."""
    low = text.strip().lower()
    if inside:
        return _yaml(spec, text, where)
    if low in map(str, spec.choices):
        return low
    if spec.nullable and (low in ("null", "none", "~") or (not low and not spec.kinds & {"text", "secret"})):
        return None
    if spec.kinds & {"text", "secret"} and not spec.kinds & {"list", "map", "any"}:
        return text
    if spec.kinds & {"list", "map", "any"}:
        value = _yaml(spec, text, where)
        shaped = ("list" in spec.kinds and isinstance(value, list)) or ("map" in spec.kinds and isinstance(value, dict))
        return text if "text" in spec.kinds and not shaped else cast("Any", value)
    if "bool" in spec.kinds and (low in _TRUE or low in _FALSE):
        return low in _TRUE
    if spec.kinds <= {"bool", "null"}:
        raise ConfigError(f"{spec.path}={text} ({where}): expected true or false")
    # Numbers: left to the schema, which knows the ranges.
    return text.strip()


def _yaml(spec: KeySpec, text: str, where: str) -> object:
    try:
        return parse_value(text)
    except ValueError as error:
        raise ConfigError(f"{spec.path}={text} ({where}): not valid YAML: {error}") from error


def shown(spec: KeySpec, value: object) -> str:
    """A value for people: secrets masked, null and booleans as YAML spells them."""
    if spec.secret:
        text = value if isinstance(value, str) else getattr(value, "get_secret_value", str)()
        return MASK if text else ""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, BaseModel):
        return str(value.model_dump(mode="json"))
    return str(value)


def check_kind(spec: KeySpec, value: object, *, where: str) -> None:
    """Refuse a boolean where none is meant: the schema would read `batch_size: true` as 1."""
    if isinstance(value, bool) and not spec.kinds & {"bool", "any"}:
        raise ConfigError(f"{spec.path}={shown(spec, value)} ({where}): a boolean is not a value of this key")


def explain(spec: KeySpec, value: object, error: ValidationError, *, where: str) -> ConfigError:
    """The first problem of a key as one line."""
    first = next((e for e in error.errors() if e["loc"] and e["loc"][0] == spec.name), error.errors()[0])
    inside = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, int) or _is_key(value, part))
    path = f"{spec.path}.{inside}" if inside else spec.path
    reason = str(first["msg"])
    context = first.get("ctx", {}).get("error")
    if isinstance(context, ValueError):
        reason = str(context)
    if first["type"] == "extra_forbidden":
        reason = "there is no such key"
    reason = reason[:1].lower() + reason[1:]
    near = nearest(str(value), map(str, spec.choices)) if spec.choices else ""
    # A map is long, and may hold what belongs nowhere: its place says enough.
    given = "" if spec.secret or inside or isinstance(value, Mapping) else f"={shown(spec, value)}"
    return ConfigError(f"{path}{given} ({where}): {reason}{near}")


def _is_key(value: object, part: str | int) -> bool:
    return isinstance(value, Mapping) and part in value
