"""MLflow (extra `mlflow`): a run is a run, figures are metrics by step, skill and report are artifacts.

Addresses and credentials are MLflow's own (`MLFLOW_TRACKING_URI` …). A run that goes on after a stop goes on in the
MLflow run that carries its id.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from skillopt.records.events import Event, RunEnd, RunStart
from skillopt.trackers.base import Tracker, metrics_of, step_of
from skillopt.trackers.extra import need

_TAG = "skillopt.run_id"
_ARTIFACTS = ("best_skill.md", "report.md", "config.yaml", "skill.md", "eval_summary.json")


class MLflow(Tracker):
    """See the module. `tracking_uri` and `experiment` blank take MLflow's own."""

    def __init__(self, *, tracking_uri: str = "", experiment: str = "skillopt", drain_s: float = 30.0) -> None:
        need("mlflow", "mlflow")
        super().__init__(_Sink(tracking_uri, experiment), name="MLflow", drain_s=drain_s)


class _Sink:
    def __init__(self, tracking_uri: str, experiment: str) -> None:
        self._uri, self._experiment = tracking_uri, experiment
        self._client: Any = None
        self._run = ""
        self._place: Path | None = None

    def take(self, event: Event) -> None:
        """Start, figures, end."""
        if isinstance(event, RunStart):
            self._start(event)
        if not self._run:
            return
        step, stamp = step_of(event), int(event.time * 1000)
        metrics = [
            self._entities().Metric(re.sub(r"[^\w\-./ ]", "_", name), value, stamp, step)
            for name, value in metrics_of(event).items()
        ]
        for at in range(0, len(metrics), 900):  # MLflow takes at most 1,000 at once
            self._client.log_batch(self._run, metrics=metrics[at : at + 900])
        if isinstance(event, RunEnd):
            for name in _ARTIFACTS:
                if self._place is not None and (self._place / name).is_file():
                    self._client.log_artifact(self._run, str(self._place / name))
            if event.reason:
                self._client.set_tag(self._run, "skillopt.stopped", event.reason)
            self._client.set_terminated(self._run, "FAILED" if event.outcome == "failed" else "FINISHED")

    def _entities(self) -> Any:
        return importlib.import_module("mlflow.entities")

    def _start(self, event: RunStart) -> None:
        self._client = importlib.import_module("mlflow").MlflowClient(self._uri or None)
        found = self._client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
        known = self._client.search_runs([experiment], filter_string=f"tags.`{_TAG}` = '{event.run_id}'")
        self._place = Path(event.out_root)
        if known:
            self._run = known[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        tags = {_TAG: event.run_id, "mlflow.runName": self._place.name}
        self._run = self._client.create_run(experiment, tags=tags).info.run_id
        params: dict[str, object] = {"env": event.env, "gate_rule": event.gate_rule, "total_steps": event.total_steps}
        params |= {f"{role.role}_model": f"{role.backend}:{role.model}" for role in event.roles}
        params |= {f"n_{name}": count for name, count in event.splits.items()}
        entities = self._entities()
        self._client.log_batch(self._run, params=[entities.Param(k, str(v)[:500]) for k, v in params.items()])

    def close(self) -> None:
        """Every figure is written as it comes."""
