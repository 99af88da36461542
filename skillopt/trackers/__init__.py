"""Trackers: a run's events in the tools that people watch runs with, each an extra of its own.

>>> from skillopt import trackers
>>> tracker = trackers.OTel()          # skillopt.optimize(..., on_event=[tracker]), or `tracking: otel`

A tracker is an observer. Whoever watches a run works on a thread behind a bounded queue, so that no run ever waits for
it; a tracker passes over what an earlier process of the same run has told already. Nothing of third parties is imported
before a run begins.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from skillopt.trackers.base import Sink, Tracker
from skillopt.trackers.mlflow import MLflow
from skillopt.trackers.otel import OTel
from skillopt.trackers.wandb import WandB

if TYPE_CHECKING:
    from skillopt.trackers.choose import NAMES, tracker_named, trackers_of

__all__ = ["NAMES", "MLflow", "OTel", "Sink", "Tracker", "WandB", "tracker_named", "trackers_of"]


def __getattr__(name: str) -> object:
    if name in ("NAMES", "tracker_named", "trackers_of"):
        return getattr(importlib.import_module("skillopt.trackers.choose"), name)
    raise AttributeError(f"module 'skillopt.trackers' has no attribute {name!r}")
