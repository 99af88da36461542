"""Which scorer a configuration names: one closed union, selected by `name`, validated strictly.

Written as a name (`exact`), as `module:function`, or as a mapping with `name` and options. What cannot be read is told
in the words of the configuration: which scorers exist, which options the named one has, and how they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from skillopt.core.errors import ConfigError
from skillopt.envs.scorers.base import Scorer
from skillopt.envs.scorers.choice import MultipleChoice
from skillopt.envs.scorers.combined import AllOf, Weighted
from skillopt.envs.scorers.function import Function
from skillopt.envs.scorers.held import Held
from skillopt.envs.scorers.json_fields import JsonFields
from skillopt.envs.scorers.labels import Labels
from skillopt.envs.scorers.numeric import Numeric
from skillopt.envs.scorers.pairwise import Pairwise
from skillopt.envs.scorers.rubric import Rubric
from skillopt.envs.scorers.text import Contains, Exact, Normalised, Regex

_KINDS: dict[str, type[Scorer]] = {
    str(kind.model_fields["name"].default): kind
    for kind in (
        Exact,
        Normalised,
        Contains,
        Numeric,
        Regex,
        MultipleChoice,
        Labels,
        JsonFields,
        Rubric,
        Pairwise,
        AllOf,
        Weighted,
        Function,
        Held,
    )
}
_OWN = "your own: module:function"


def _named(value: Any) -> Any:
    """The mapping that a short form stands for. Raises `ValueError`, worded for people."""
    if isinstance(value, Scorer):
        return value
    if isinstance(value, str):
        return {"name": "callable", "function": value} if ":" in value else _known({"name": value})
    if not isinstance(value, Mapping):
        raise ValueError(f"a scorer is a name or a mapping with a name; available: {_available()}")
    return _known(cast("Mapping[str, Any]", value))


def _known(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    if "name" not in spec:
        if any(":" in str(key) for key in spec):
            raise ValueError("write a space after each colon, for example {name: numeric, absolute: 0.1}")
        raise ValueError(f"the mapping needs a name; available: {_available()}")
    kind = _KINDS.get(str(spec["name"]))
    if kind is None:
        raise ValueError(f"no scorer is called {spec['name']!r}; available: {_available()}")
    unknown = next((str(key) for key in spec if key not in kind.model_fields), "")
    if unknown:
        options = [name for name in kind.model_fields if name != "name"]
        takes = f"its options: {', '.join(options)}" if options else "it has none"
        raise ValueError(f"the scorer {spec['name']} has no option {unknown!r}; {takes}")
    if kind is Function and not spec.get("function"):
        raise ValueError("a scorer of your own is written {name: callable, function: module:function}")
    return _with_parts(spec) if kind in (AllOf, Weighted) else spec


def _with_parts(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping of a combination with its parts built. Raises `ValueError` that says which part."""
    name, parts = spec["name"], spec.get("parts")
    if not isinstance(parts, (list, tuple)) or not parts:
        raise ValueError(f"the scorer {name} needs parts, a list of scorers")
    rows = cast("Sequence[Any]", parts)
    if name == "all_of":
        return {**spec, "parts": [_part(row, n) for n, row in enumerate(rows, start=1)]}
    built: list[Any] = []
    for n, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or "scorer" not in row:
            raise ValueError(f"part {n}: a weighted part is written {{scorer: numeric, weight: 2}}")
        fields = cast("Mapping[str, Any]", row)
        built.append({**fields, "scorer": _part(fields["scorer"], n)})
    return {**spec, "parts": built}


def _part(value: Any, number: int) -> Scorer:
    try:
        return build_scorer(value)
    except ConfigError as error:
        raise ValueError(f"part {number}: {error.message.removeprefix('scorer: ')}") from None


def _available() -> str:
    return f"{', '.join(name for name in _KINDS if name not in ('callable', 'python'))}; {_OWN}"


ScorerSpec = Annotated[
    Annotated[
        Exact
        | Normalised
        | Contains
        | Numeric
        | Regex
        | MultipleChoice
        | Labels
        | JsonFields
        | Rubric
        | Pairwise
        | AllOf
        | Weighted
        | Function
        | Held,
        Field(discriminator="name"),
    ],
    BeforeValidator(_named),
]
_ADAPTER: TypeAdapter[Any] = TypeAdapter(ScorerSpec)


def build_scorer(spec: Any) -> Scorer:
    """A scorer from its YAML value: a name, `module:function`, or a mapping with `name` and options. Raises
    `ConfigError` with one line."""
    try:
        return _ADAPTER.validate_python(spec)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        worded = first.get("ctx", {}).get("error")
        if isinstance(worded, ValueError) and not first["loc"]:
            raise ConfigError(f"scorer: {worded}") from None
        place = ".".join(["scorer", *(str(part) for part in first["loc"][1:])])
        raise ConfigError(f"{place}: {worded or first['msg']}, got {first['input']!r}") from error
