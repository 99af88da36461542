"""The forms in which a budget and a configuration may be given, and the keys that they set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, Union, cast

from skillopt.config.keys import SECTIONS
from skillopt.config.sources.files import load_files
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.core.errors import ConfigError

ConfigLike: TypeAlias = Union[str, Path, "Mapping[str, object]", None]
BudgetLike: TypeAlias = Union[float, "Mapping[str, float]", None]
_CAPS = {"usd": "max_usd", "tokens": "max_tokens", "calls": "max_calls", "hours": "max_hours", "patience": "patience"}


def caps_of(budget: object) -> dict[str, object]:
    """The keys that a budget sets. Raises `ConfigError`.

    >>> caps_of(2.0), caps_of({"calls": 500})
    ({'budget.max_usd': 2.0}, {'budget.max_calls': 500})
    """
    if isinstance(budget, (int, float)):
        budget = {"usd": budget}
    if not isinstance(budget, (Mapping, type(None))):
        raise ConfigError(
            f"budget cannot be {type(budget).__name__}",
            hint='give US dollars, or a mapping as {"usd": 2.0, "calls": 500}',
        )
    caps: dict[str, object] = {}
    for kind, most in cast("Mapping[str, object]", budget or {}).items():
        if kind not in _CAPS:
            raise ConfigError(f"budget: unknown cap {kind!r}", hint=f"known: {', '.join(_CAPS)}")
        caps[f"budget.{_CAPS[kind]}"] = most
    return caps


def config_layers(config: object) -> tuple[Layer, ...]:
    """What a configuration file or a mapping of keys says. Raises `ConfigError`."""
    if config is None:
        return ()
    if not isinstance(config, (Mapping, str, os.PathLike)):
        raise ConfigError(
            f"config cannot be {type(config).__name__}", hint="give a YAML file's path, or a mapping of keys"
        )
    if isinstance(config, Mapping):
        return (Layer("file", tuple(_entries(cast("Mapping[str, object]", config)))),)
    return load_files(Path(cast("str | Path", config)))


def _entries(config: Mapping[str, object]) -> Iterator[Raw]:
    for name, value in config.items():
        if name in SECTIONS and isinstance(value, Mapping):
            for key, inner in cast("Mapping[str, object]", value).items():
                yield Raw(f"{name}.{key}", inner, Origin("file", f"config[{name!r}][{key!r}]"), form=1)
        else:
            yield Raw(name, value, Origin("file", f"config[{name!r}]"))
