"""The keys of a configuration as somebody who sets them sees them: value, origin, kind, choices, sentence.

The dashboard makes its controls of these; nothing about a key is written a second time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.api.given.configuring import Resolved, configuration
from skillopt.config.export import dry_run_rows, values_of
from skillopt.config.keys import KeySpec
from skillopt.config.sources.overrides import Names, parse_overrides
from skillopt.config.table import Found
from skillopt.core.errors import ConfigError, SkillOptError
from skillopt.core.redact import redact
from skillopt.envs.registry import settings_schemas

_SECRETIVE = re.compile(r"key|token|secret|password", re.IGNORECASE)
Kind = Literal["bool", "choice", "int", "float", "text", "yaml", "secret"]

FRONT: Mapping[str, tuple[float, float] | None] = {
    "optimizer.learning_rate": (1, 32),
    "optimizer.lr_scheduler": None,
    "train.num_epochs": (1, 8),
    "train.batch_size": (10, 100),
    "gradient.analyst_workers": (1, 32),
    "optimizer.use_slow_update": None,
    "optimizer.use_meta_skill": None,
    "evaluation.use_gate": None,
}
"""The eight that people change first, with the span that their control offers; any other value can be typed."""


@dataclass(frozen=True)
class ShownKey:
    """One key. `value` is its text as the command line takes it; a secret's is masked and cannot be set here."""

    path: str
    section: str
    name: str
    kind: Kind
    choices: tuple[str, ...]
    nullable: bool
    value: str
    origin: str
    default: str
    sentence: str
    span: tuple[float, float] | None = None

    @property
    def moved(self) -> bool:
        """Whether it is something else than the default."""
        return self.value != self.default


def shown_keys(resolved: Resolved) -> tuple[ShownKey, ...]:
    """Every key of a resolved configuration, sections in order."""
    rows = {row.key: row for row in dry_run_rows(resolved)}
    return tuple(_shown(spec, rows[spec.path].value, rows[spec.path].source) for spec, _ in values_of(resolved.config))


def problem_of(path: str | Path, arguments: Sequence[str]) -> str:
    """What is wrong with a configuration and these overrides, in the product's own words; blank when nothing is.

    >>> problem_of("none.yaml", [])
    'cannot read the configuration file none.yaml: No such file or directory'
    """
    try:
        configuration(path, arguments)
    except SkillOptError as error:
        return " ".join(str(error).split())
    return ""


def may_be_shown(text: str) -> bool:
    """Whether an override `key=value` may stand on a page and in a file: it sets no secret, and looks like none.

    >>> may_be_shown("train.batch_size=8"), may_be_shown("openai_api_key=x"), may_be_shown("model.my_token=x")
    (True, False, False)
    """
    schemas = settings_schemas()
    try:
        names = [raw.name for raw in parse_overrides([text], schemas).entries]
    except ConfigError:  # told where it is read; what was meant to be a secret keeps its value to itself
        return redact(text) == text and not _SECRETIVE.search(text)
    found = [Names(schemas).find(name) for name in names]
    return redact(text) == text and not any(isinstance(each, Found) and each.spec.secret for each in found)


def _shown(spec: KeySpec, value: str, origin: str) -> ShownKey:
    return ShownKey(
        spec.path, spec.section, spec.name, _kind(spec), tuple(map(_plain, spec.choices)), spec.nullable, value, origin,
        _plain(spec.default), spec.description, FRONT.get(spec.path),
    )  # fmt: skip


def _kind(spec: KeySpec) -> Kind:
    kinds: set[str] = {*spec.kinds} - {"null"}
    if spec.secret:
        return "secret"
    if kinds == {"bool"}:
        return "bool"
    if spec.choices and all(isinstance(choice, str) for choice in spec.choices):
        return "choice"
    if kinds == {"int"}:
        return "int"
    if kinds and kinds <= {"int", "float"}:
        return "float"
    return "text" if kinds == {"text"} else "yaml"


def _plain(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
