"""A configuration as a command line gives it: a file, then environment variables, then arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from skillopt.config import Config, Resolved, load_config, parse_overrides, render_dry_run
from skillopt.envs.registry import settings_schemas

__all__ = ["Config", "Resolved", "configuration", "described", "overrides_of"]


def configuration(path: str | Path, arguments: Sequence[str] = (), *, effort: str | None = None) -> Resolved:
    """Read a configuration file; `arguments` are any keys in any of the command line's forms, and beat it. `effort` is
    a preset (light, medium, heavy) that reads the size of the data. Raises `ConfigError`, one line.

    >>> configuration("none.yaml", ["--batch_size", "40"])
    Traceback (most recent call last):
    ...
    skillopt.core.errors.ConfigError: cannot read the configuration file none.yaml: No such file or directory
    """
    file = Path(path)
    schemas = settings_schemas()
    overrides = parse_overrides(list(arguments), schemas)
    resolved = load_config(file, overrides=overrides, environ=os.environ, env_schemas=schemas)
    if effort is None:
        return resolved
    from skillopt.api.given.effort import resolved_with_effort

    return resolved_with_effort(
        effort,
        resolved,
        lambda preset: load_config(file, overrides=overrides, environ=os.environ, env_schemas=schemas, preset=preset),
    )


def overrides_of(arguments: Sequence[str]) -> dict[str, object]:
    """Keys in any of the command line's forms, by name, for functions that take `overrides`; values are read as YAML
    reads them. Raises `ConfigError`.

    >>> overrides_of(["--batch_size", "40", "env.limit=3"])
    {'env.limit': 3, 'batch_size': 40}
    """
    found = parse_overrides(list(arguments), settings_schemas())
    return {raw.name: _value(raw.value) for raw in found.entries}


def _value(value: object) -> object:
    import yaml

    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except (yaml.YAMLError, ValueError, RecursionError):
        return value


def described(resolved: Resolved) -> str:
    """Every value and where it came from, a line each; secrets are masked."""
    return render_dry_run(resolved)
