"""Trackers by name, as the configuration key `tracking` gives them."""

from __future__ import annotations

from collections.abc import Callable

from skillopt.core.errors import ConfigError
from skillopt.trackers.base import Tracker
from skillopt.trackers.mlflow import MLflow
from skillopt.trackers.otel import OTel
from skillopt.trackers.wandb import WandB

_KINDS: dict[str, Callable[[], Tracker]] = {"mlflow": MLflow, "wandb": WandB, "otel": OTel}
NAMES = tuple(_KINDS)


def tracker_named(name: str) -> Tracker:
    """A tracker with its own standard settings. Raises `ConfigError` for an unknown name or a missing extra."""
    if name not in _KINDS:
        raise ConfigError(f"unknown tracker {name!r}", hint=f"one of {', '.join(NAMES)}")
    return _KINDS[name]()
