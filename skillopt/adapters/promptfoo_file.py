"""promptfoo's configuration as items: `tests` and `scenarios` with their `vars` and assertions, one of its `prompts`
(the first).

What would change a score and is not done here is an error with its name, never passed over. `javascript` would need
Node and is refused; `llm-rubric` is our own judge, with a criterion for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, TemplateError

from skillopt.adapters.promptfoo_asserts import RUBRICS, check_assertion, score
from skillopt.adapters.promptfoo_read import mapping, named_value, schema, text_of
from skillopt.adapters.promptfoo_tests import read_tests
from skillopt.adapters.promptfoo_text import combinations, named, resolved, shown, templates
from skillopt.api.given import scorers
from skillopt.api.given.adapted import Adapted
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object


def promptfoo(path: str | Path, *, prompt: int = 0) -> Adapted:
    """Read a `promptfooconfig.yaml`. Raises `ConfigError` or `DataError`, one line.

    >>> promptfoo("none.yaml")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: none.yaml: No such file or directory
    """
    file = Path(path)
    config = mapping(file)
    template, several = _prompt(config, file, prompt)
    tests = read_tests(config, file)
    if not tests:
        raise DataError(f"{file}: no tests", hint="an adapter needs `tests:` with vars and assert")
    rows = [
        _item(test, variables, template, file, number)
        for number, test in enumerate(tests, start=1)
        for variables in _combinations(test)
    ]
    judged = [bool(row["criteria"]) for row in rows]
    if any(judged) and not all(judged):
        odd = rows[judged.index(False)]["id"]
        raise ConfigError(f"{file}: {odd} has no llm-rubric and others have", hint="give every test one, or none")
    plain = any(row["assert"] for row in rows)
    rubric = scorers.Judging({"name": "rubric", "criteria_field": "criteria"})
    scorer: object = scorers.all_of(score, rubric) if judged[0] and plain else rubric if judged[0] else score
    notes = (f"prompt {prompt} of {several} is used",) if several > 1 else ()
    return Adapted(named(rows), scorer, notes=notes)


def _prompt(config: JsonObject, file: Path, number: int) -> tuple[str, int]:
    """The text of one prompt and how many there are; `file://` names one beside the configuration, and a text file
    holds several where lines of `---` part them."""
    raw = config.get("prompts")
    prompts: list[str] = []
    for entry in raw if isinstance(raw, list) else [raw] if raw else []:
        found = as_object(entry).get("raw") or as_object(entry).get("id") if isinstance(entry, dict) else entry
        text = shown(found)
        name = text.removeprefix("file://")
        if text.startswith("file://") and not name.endswith((".txt", ".md", ".json", ".yaml", ".yml")):
            raise ConfigError(f"{file}: prompt {name} is not read here", hint="of files: .txt, .md")
        if text.startswith("file://") or ("\n" not in name and name.endswith((".txt", ".md"))):
            if not (file.parent / name).is_file():
                raise DataError(f"{file}: prompt {name}: no such file")
            text = text_of(file.parent / name)
            prompts += re.split(r"(?m)^---\s*$\n?", text) if name.endswith(".txt") else [text]
        else:
            prompts.append(text)
    if number >= len(prompts):
        raise ConfigError(f"{file} has {len(prompts)} prompts", hint="prompt= counts from 0")
    return prompts[number].strip(), len(prompts)


def _combinations(test: JsonObject) -> list[JsonObject]:
    variables = as_object(test.get("vars"))
    return [variables] if as_object(test.get("options")).get("disableVarExpansion") else combinations(variables)


def _item(test: JsonObject, variables: JsonObject, template: str, file: Path, number: int) -> dict[str, JsonValue]:
    where = f"{file}: test {number}"
    asserts = [as_object(one) for one in as_array(test.get("assert"))]
    if not asserts:
        raise DataError(f"{where} has no assert", hint="nothing could be scored")
    _refuse(test, asserts, where)
    options = as_object(test.get("options"))
    whole = f"{shown(options.get('prefix'))}{template}{shown(options.get('suffix'))}"
    environment = templates()
    try:
        values = resolved(variables, environment)
        rendered = environment.from_string(whole).render(values)
        filled = [_filled(one, environment, values, file) for one in asserts]
    except TemplateError as error:
        raise DataError(f"{where}: {error}") from None
    criteria: list[JsonValue] = [shown(one.get("value")) for one in filled if one.get("type") in RUBRICS]
    rest: list[JsonValue] = [one for one in filled if one.get("type") not in RUBRICS]
    for one in rest:
        check_assertion(as_object(one), where)
    return {
        "id": shown(test.get("description")) or f"test-{number}", "prompt": rendered, "vars": values,
        "assert": rest, "criteria": criteria, "threshold": test.get("threshold"),
    }  # fmt: skip


def _refuse(test: JsonObject, asserts: Sequence[JsonObject], where: str) -> None:
    """What would change a score and is not done here is an error with its name. Raises `ConfigError`."""
    options = as_object(test.get("options"))
    for name in ("transform", "postprocess", "transformVars"):
        if options.get(name) is not None:
            raise ConfigError(f"{where}: options.{name} is not done here", hint="write it as an assert of type python")
    for name in ("assertScoringFunction", "providerOutput", "prompts"):
        if test.get(name) is not None:
            raise ConfigError(f"{where}: {name} is not read here", hint="leave it out")
    for one in asserts:
        rated = (test.get("threshold"), one.get("weight"), one.get("threshold")) != (None,) * 3
        if one.get("type") in RUBRICS and rated:
            raise ConfigError(
                f"{where}: {one['type']} with a weight or threshold is not read here",
                hint="every criterion has to hold",
            )


def _filled(assertion: JsonObject, environment: Environment, variables: JsonObject, file: Path) -> JsonObject:
    """An assertion with the files that its value names read, and variables inside its texts."""
    if assertion.get("type") == "assert-set":
        parts = as_array(assertion.get("assert"))
        return {**assertion, "assert": [_filled(as_object(one), environment, variables, file) for one in parts]}
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith("file://"):
        name, _, function = value.removeprefix("file://").partition(":")
        if name.endswith(".py") and str(assertion.get("type")).endswith("python"):
            return {**assertion, "value": text_of(file.parent / name), "function": function or "get_assert"}
        if not name.endswith((".txt", ".md", ".json", ".yaml", ".yml")):
            raise ConfigError(f"{file}: {value}: a file is not read here", hint="of files: .txt, .json, .yaml")
        value = named_value(value, file)
    elif isinstance(value, str):
        value = environment.from_string(value).render(variables)
        if str(assertion.get("type")).endswith("-json"):
            value = schema(value)
    elif isinstance(value, list):
        value = [environment.from_string(one).render(variables) if isinstance(one, str) else one for one in value]
    return {**assertion, "value": value}
