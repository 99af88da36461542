"""promptfoo's configuration as items: `tests` with their `vars` and assertions, one of its `prompts` (the first).

An assertion type that is not known here is an error with its name, never passed over. `javascript` would need Node and
is refused; `llm-rubric` is our own judge, with a criterion for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import yaml
from jinja2 import Environment, TemplateError

from skillopt.adapters.promptfoo_asserts import check_assertion, score
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object

_RUBRIC = ("llm-rubric", "model-graded-closedqa")


def promptfoo(path: str | Path, *, prompt: int = 0) -> Adapted:
    """Read a `promptfooconfig.yaml`. Raises `ConfigError` or `DataError`, one line.

    >>> promptfoo("none.yaml")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: none.yaml: No such file or directory
    """
    file = Path(path)
    config = _yaml(file)
    template = _prompt(config, file, prompt)
    named = config.get("defaultTest")
    default = _yaml(file.parent / named.removeprefix("file://")) if isinstance(named, str) else as_object(named)
    tests = [_merged(default, test, file) for test in _tests(config.get("tests"), file)]
    if not tests:
        raise DataError(f"{file}: no tests", hint="an adapter needs `tests:` with vars and assert")
    rows = [_item(test, template, f"{file}: test {n}", n) for n, test in enumerate(tests, start=1)]
    judged = [bool(row["criteria"]) for row in rows]
    if any(judged) and not all(judged):
        odd = judged.index(False) + 1
        raise ConfigError(f"{file}: test {odd} has no llm-rubric and others have", hint="give every test one, or none")
    plain = any(row["assert"] for row in rows)
    rubric = scorers.Judging({"name": "rubric", "criteria_field": "criteria"})
    scorer: object = scorers.all_of(score, rubric) if judged[0] and plain else rubric if judged[0] else score
    return Adapted(rows, scorer, notes=tuple(_notes(config, prompt)))


def _yaml(file: Path) -> JsonObject:
    raw = _parsed(file)
    if not isinstance(raw, Mapping):
        raise DataError(f"{file} is no mapping", hint="names with values are expected in it")
    return as_object(raw)


def _parsed(file: Path) -> JsonValue:
    try:
        return cast("JsonValue", yaml.safe_load(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def _prompt(config: JsonObject, file: Path, number: int) -> str:
    """The text of one prompt; `file://` names one beside the configuration."""
    prompts = as_array(config.get("prompts")) if not isinstance(config.get("prompts"), str) else [config["prompts"]]
    if number >= len(prompts):
        raise ConfigError(f"{file} has {len(prompts)} prompts", hint="prompt= counts from 0")
    found = prompts[number]
    text = (
        str(as_object(found).get("raw") or as_object(found).get("id") or "")
        if isinstance(found, Mapping)
        else str(found)
    )
    name = text.removeprefix("file://")
    if text.startswith("file://") or name.endswith((".txt", ".md")):
        if not (file.parent / name).is_file():
            raise DataError(f"{file}: prompt {name}: no such file")
        return (file.parent / name).read_text(encoding="utf-8")
    return text


def _tests(raw: JsonValue, file: Path) -> list[JsonObject]:
    """Tests in the file itself, or in a YAML file that it names."""
    if isinstance(raw, str):
        if not raw.endswith((".yaml", ".yml", ".json")):
            raise ConfigError(f"{file}: tests: {raw} is not read here", hint="write the tests as YAML")
        raw = _parsed(file.parent / raw.removeprefix("file://"))
    tests: list[JsonObject] = []
    for entry in as_array(raw):
        tests += _tests(entry, file) if isinstance(entry, str) else [as_object(entry)]
    return tests


def _merged(default: JsonObject, test: JsonObject, file: Path) -> JsonObject:
    variables = {**_vars(default.get("vars"), file), **_vars(test.get("vars"), file)}
    asserts = [*as_array(default.get("assert")), *as_array(test.get("assert"))]
    return {**default, **test, "vars": variables, "assert": asserts}


def _vars(raw: JsonValue, file: Path) -> JsonObject:
    """The variables written there, or those of the YAML files that are named, the later over the earlier."""
    if raw is None or isinstance(raw, dict):
        return {name: _text_of(name, value, file) for name, value in (raw or {}).items()}
    found: JsonObject = {}
    for name in raw if isinstance(raw, list) else [raw]:
        if not isinstance(name, str) or not name.endswith((".yaml", ".yml", ".json")) or "*" in name:
            raise ConfigError(
                f"{file}: vars: {name!r} is not read here", hint="write names with values, or a YAML file"
            )
        found |= {
            key: _text_of(key, value, file) for key, value in _yaml(file.parent / name.removeprefix("file://")).items()
        }
    return found


def _text_of(name: str, value: JsonValue, file: Path) -> JsonValue:
    """What stands in the text file that a variable names; any other value as it is."""
    if not isinstance(value, str) or not value.startswith("file://") or not value.endswith((".txt", ".md")):
        return value
    try:
        return (file.parent / value.removeprefix("file://")).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: var {name}: {value}: {error}") from None


def _item(test: JsonObject, template: str, where: str, number: int) -> dict[str, JsonValue]:
    variables = as_object(test.get("vars"))
    asserts = [as_object(one) for one in as_array(test.get("assert"))]
    if not asserts:
        raise DataError(f"{where} has no assert", hint="nothing could be scored")
    _refuse(test, asserts, where)
    criteria: list[JsonValue] = [str(a.get("value")) for a in asserts if a.get("type") in _RUBRIC]
    rest = [a for a in asserts if a.get("type") not in _RUBRIC]
    environment = Environment(autoescape=False)
    try:
        rendered = environment.from_string(template).render(variables)
        filled: list[JsonValue] = [_filled(a, environment, variables) for a in rest]
    except TemplateError as error:
        raise DataError(f"{where}: {error}") from None
    for one in filled:
        check_assertion(as_object(one), where)
    threshold = test.get("threshold")
    return {
        "id": str(test.get("description") or f"test-{number}") if number else "", "prompt": rendered, "vars": variables,
        "assert": filled, "criteria": criteria, "threshold": threshold,
    }  # fmt: skip


def _refuse(test: JsonObject, asserts: Sequence[JsonObject], where: str) -> None:
    """What would change a score and is not done here is an error with its name. Raises `ConfigError`."""
    options = as_object(test.get("options"))
    for name in ("transform", "postprocess"):
        if options.get(name) is not None:
            raise ConfigError(f"{where}: options.{name} is not done here", hint="write it as an assert of type python")
    for name, value in as_object(test.get("vars")).items():
        if isinstance(value, list) and not options.get("disableVarExpansion"):
            raise ConfigError(f"{where}: var {name} has several values", hint="write a test for each of them")
        if isinstance(value, str) and value.startswith("file://"):
            raise ConfigError(
                f"{where}: var {name}: {value}: a file is not read here", hint="write what is in it, or name a .txt"
            )
    for one in asserts:
        if (
            one.get("type") in _RUBRIC
            and (test.get("threshold"), one.get("weight"), one.get("threshold")) != (None,) * 3
        ):
            raise ConfigError(
                f"{where}: {one['type']} with a weight or threshold is not read here",
                hint="every criterion has to hold",
            )


def _filled(assertion: JsonObject, environment: Environment, variables: JsonObject) -> JsonObject:
    """Variables inside the values of an assertion."""

    def fill(value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return environment.from_string(value).render(variables)
        return [fill(one) for one in value] if isinstance(value, list) else value

    return {**assertion, "value": fill(assertion.get("value"))}


def _notes(config: JsonObject, prompt: int) -> list[str]:
    prompts = config.get("prompts")
    several = isinstance(prompts, list) and len(prompts) > 1
    return [f"prompt {prompt} of {len(as_array(prompts))} is used"] if several else []
