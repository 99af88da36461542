"""The files of a promptfoo configuration: YAML with its `$ref`, JSON, JSONL and texts, by name or by pattern."""

from __future__ import annotations

from collections.abc import Iterable
from glob import escape, glob
from pathlib import Path
from typing import cast

import yaml

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.json_types import JsonObject, JsonValue, as_object, parse_json


def mapping(file: Path) -> JsonObject:
    """A YAML file with names and values, `$ref` filled in. Raises `DataError`, one line."""
    raw = parsed(file)
    if not isinstance(raw, dict):
        raise DataError(f"{file} is no mapping", hint="names with values are expected in it")
    return as_object(_linked(raw, raw, file))


def named_value(name: str, file: Path) -> JsonValue:
    """What a value that names a file stands for: the text, or what is in a JSON or YAML file."""
    place = beside(name, file)
    return parsed(place) if place.suffix in (".json", ".yaml", ".yml") else text_of(place)


def text_of(file: Path) -> str:
    """A text file. Raises `DataError`, one line."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def parsed(file: Path) -> JsonValue:
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".jsonl":
            return [parse_json(line) for line in text.splitlines() if line.strip()]
        return cast("JsonValue", yaml.safe_load(text))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def _linked(value: JsonValue, root: JsonObject, file: Path, depth: int = 0) -> JsonValue:
    """A value with each `{$ref: "#/…"}` replaced by what stands there."""
    if isinstance(value, list):
        return [_linked(one, root, file, depth) for one in value]
    if not isinstance(value, dict):
        return value
    link = value.get("$ref")
    if not isinstance(link, str):
        return {name: _linked(one, root, file, depth) for name, one in value.items()}
    found: JsonValue = root
    for part in link.removeprefix("#/").split("/"):
        found = as_object(found).get(part)
    if found is None or depth > 20 or not link.startswith("#/"):
        raise DataError(f"{file}: $ref {link}: nothing stands there", hint="#/assertionTemplates/name")
    return _linked(found, root, file, depth + 1)


def beside(name: str, file: Path) -> Path:
    return file.parent / name.removeprefix("file://")


def files(name: str, file: Path, endings: Iterable[str], what: str) -> list[Path]:
    """The files of a name that may be a pattern. Raises `ConfigError` or `DataError`."""
    if not name.endswith(tuple(endings)):
        raise ConfigError(f"{file}: {what}: {name!r} is not read here", hint=f"of files: {', '.join(endings)}")
    place = beside(name, file)
    if place.is_file() or not set("*?[") & set(name):
        return [place]
    pattern = name.removeprefix("file://")
    places = sorted(glob(str(Path(escape(str(file.parent))) / pattern), recursive=True))
    if not places:
        raise DataError(f"{file}: {what}: {name}: no such file")
    return [Path(one) for one in places]


def schema(text: str) -> JsonValue:
    """A schema that is written as a text."""
    try:
        return as_object(yaml.safe_load(text)) or text
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
