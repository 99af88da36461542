"""Trackers by name, as the configuration's section `tracking` gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt.config.schema.tracking import TRACKERS, TrackingSection
from skillopt.config.suggestions import nearest
from skillopt.core.errors import ConfigError
from skillopt.trackers.base import Tracker
from skillopt.trackers.mlflow import MLflow
from skillopt.trackers.otel import OTel
from skillopt.trackers.wandb import WandB

NAMES = TRACKERS
_STANDARD = TrackingSection()

_KINDS: Mapping[str, Callable[[TrackingSection], Tracker]] = {
    "mlflow": lambda s: MLflow(
        tracking_uri=s.mlflow_uri, experiment=s.mlflow_experiment, register_prompt=s.mlflow_prompt
    ),
    "wandb": lambda s: WandB(project=s.wandb_project, mode=s.wandb_mode),
    "otel": lambda s: OTel(capture_content=s.otel_capture_content),
}


def tracker_named(name: str, settings: TrackingSection = _STANDARD) -> Tracker:
    """A tracker with the settings of the section. Raises `ConfigError` for an unknown name or a missing extra."""
    if name not in _KINDS:
        raise ConfigError(f"unknown tracker {name!r}{nearest(name, NAMES)}", hint=f"one of {', '.join(NAMES)}")
    return _KINDS[name](settings)


def trackers_of(settings: TrackingSection) -> list[Tracker]:
    """The trackers that a configuration names. Raises `ConfigError` for a missing extra; nothing is opened yet."""
    return [tracker_named(name, settings) for name in settings.trackers or ()]
