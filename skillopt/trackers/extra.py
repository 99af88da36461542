"""Whether an optional library is there, told before a run spends anything."""

from __future__ import annotations

import importlib.util

from skillopt.core.errors import ConfigError


def need(module: str, extra: str) -> None:
    """Raises `ConfigError` that says what to install. Nothing is imported."""
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise ConfigError(
            f"tracking by {extra}: the package {module.partition('.')[0]} is not installed",
            hint=f"pip install 'skillopt[{extra}]'",
        )
