"""promptfoo's `tests` and `scenarios`, in the file itself or in files that it names, merged with `defaultTest`."""

from __future__ import annotations

import json
from pathlib import Path

from skillopt.adapters.promptfoo_asserts import KNOWN
from skillopt.adapters.promptfoo_csv import csv_tests
from skillopt.adapters.promptfoo_read import beside, files, mapping, parsed, text_of
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object


def read_tests(config: JsonObject, file: Path) -> list[JsonObject]:
    """Every test with its variables, assertions and options. Raises `ConfigError` or `DataError`, one line."""
    named = config.get("defaultTest")
    default = mapping(beside(named, file)) if isinstance(named, str) else as_object(named)
    tests = [_merged([default, test], file) for test in _tests(config.get("tests"), file)]
    for scenario in _listed(config.get("scenarios"), file):
        rows = [as_object(one) for one in _listed(scenario.get("config"), file)]
        inner = _tests(scenario.get("tests") or [{}], file)
        tests += [_merged([default, row, test], file) for row in rows for test in inner]
    return tests


def _listed(raw: JsonValue, file: Path) -> list[JsonObject]:
    """A list that stands there, or in the YAML files that are named."""
    if isinstance(raw, str):
        return [one for place in files(raw, file, (".yaml", ".yml", ".json"), "a list")
                for one in _listed(parsed(place), file)]  # fmt: skip
    found: list[JsonObject] = []
    for one in raw if isinstance(raw, list) else [raw] if raw else []:
        found += _listed(one, file) if isinstance(one, str) else [as_object(one)]
    return found


def _tests(raw: JsonValue, file: Path) -> list[JsonObject]:
    """Tests in the file itself, or in YAML, JSON, JSONL or CSV files that it names."""
    tests: list[JsonObject] = []
    for entry in raw if isinstance(raw, list) else [raw] if raw else []:
        name = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(name, str):
            tests.append(as_object(entry))
            continue
        for place in files(name, file, (".yaml", ".yml", ".json", ".jsonl", ".csv"), "tests"):
            tests += csv_tests(place, KNOWN) if place.suffix == ".csv" else _tests(parsed(place), file)
    return tests


def _merged(parts: list[JsonObject], file: Path) -> JsonObject:
    """A test over its scenario's row over the defaults: later values win, assertions add up."""
    variables: JsonObject = {}
    options: JsonObject = {}
    whole: JsonObject = {}
    for part in parts:
        variables |= _vars(part.get("vars"), file)
        options |= as_object(part.get("options"))
        whole |= part
    asserting = parts[1:] if options.get("disableDefaultAsserts") is True else parts
    asserts = [one for part in asserting for one in as_array(part.get("assert"))]
    return {**whole, "vars": variables, "assert": asserts, "options": options}


def _vars(raw: JsonValue, file: Path) -> JsonObject:
    """The variables written there, or those of the YAML files that are named, the later over the earlier."""
    found: JsonObject = {}
    if raw is None or isinstance(raw, dict):
        for name, value in (raw or {}).items():
            found[name] = _var(name, value, file) if isinstance(value, str) and value.startswith("file://") else value
        return found
    for name in raw if isinstance(raw, list) else [raw]:
        if not isinstance(name, str):
            raise ConfigError(f"{file}: vars: {name!r} is not read here", hint="names with values, or a YAML file")
        for place in files(name, file, (".yaml", ".yml", ".json"), "vars"):
            found |= _vars(mapping(place), file)
    return found


def _var(name: str, value: str, file: Path) -> JsonValue:
    """The text of a file that a variable names, of each where several fit; YAML and JSON as JSON text."""
    texts: list[JsonValue] = []
    for place in files(value, file, (".txt", ".md", ".csv", ".yaml", ".yml", ".json"), f"var {name}"):
        texts.append(
            json.dumps(parsed(place), ensure_ascii=False) if place.suffix in (".yaml", ".yml") else text_of(place)
        )
    return texts[0] if len(texts) == 1 else texts
