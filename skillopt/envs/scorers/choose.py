"""Which scorer a configuration names: one closed union, selected by `name`, validated strictly."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from skillopt.core.errors import ConfigError
from skillopt.envs.scorers.base import Scorer
from skillopt.envs.scorers.choice import MultipleChoice
from skillopt.envs.scorers.function import Function
from skillopt.envs.scorers.json_fields import JsonFields
from skillopt.envs.scorers.numeric import Numeric
from skillopt.envs.scorers.text import Contains, Exact, Normalised, Regex


def _named(value: Any) -> Any:
    """`scorer: exact` means `scorer: {name: exact}`."""
    return {"name": value} if isinstance(value, str) else value


ScorerSpec = Annotated[
    Annotated[
        Exact | Normalised | Contains | Numeric | Regex | MultipleChoice | JsonFields | Function,
        Field(discriminator="name"),
    ],
    BeforeValidator(_named),
]
_ADAPTER: TypeAdapter[Any] = TypeAdapter(ScorerSpec)


def build_scorer(spec: Any) -> Scorer:
    """A scorer from its YAML value: a name, or a mapping with `name` and options. Raises `ConfigError` with one
    line."""
    try:
        return _ADAPTER.validate_python(spec)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(["scorer", *(str(part) for part in first["loc"][1:])])
        raise ConfigError(f"{place}: {first['msg']}, got {first['input']!r}") from error
