"""Trackers: a run's events in the tools that people watch runs with, each an extra of its own.

>>> from skillopt import trackers
>>> tracker = trackers.MLflow()          # skillopt.optimize(..., on_event=[tracker])

A tracker is an observer. It works on a thread of its own behind a bounded queue, so that no run ever waits for it, and
passes over what an earlier process of the same run has told already.
"""

from __future__ import annotations

from skillopt.trackers.base import Sink, Tracker
from skillopt.trackers.choose import NAMES, tracker_named
from skillopt.trackers.mlflow import MLflow
from skillopt.trackers.otel import OTel
from skillopt.trackers.wandb import WandB

__all__ = ["NAMES", "MLflow", "OTel", "Sink", "Tracker", "WandB", "tracker_named"]
