"""MLflow (extra `mlflow`): a run is a run, figures are metrics by step, skill and report are artifacts.

Addresses and credentials are MLflow's own (`MLFLOW_TRACKING_URI` …). A run that goes on after a stop goes on in the
MLflow run whose id is kept in the run directory, or that carries the run's id as a tag. MLflow keeps its `file:` store
for old data only; a file of one's own is `sqlite:///mlflow.db`. With `register_prompt` a training's best skill becomes
a version of the prompt of that name at its end; an empty one, or one that is the newest version already, adds none.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from skillopt.records.events import Event, RunEnd, RunStart
from skillopt.records.reading import BEST_SKILL
from skillopt.trackers.base import Tracker, metrics_of, step_of
from skillopt.trackers.continued import known_run, remember_run
from skillopt.trackers.extra import need
from skillopt.trackers.facts import artifacts, parameters

_TAG = "skillopt.run_id"
_AT_ONCE = 900
"""MLflow takes at most 1,000 metrics in one request."""


class MLflow(Tracker):
    """See the module. `tracking_uri` blank takes MLflow's own, `register_prompt` blank registers no prompt."""

    def __init__(
        self,
        *,
        tracking_uri: str = "",
        experiment: str = "skillopt",
        register_prompt: str = "",
        drain_s: float = 30.0,
    ) -> None:
        need("mlflow", "mlflow")
        super().__init__(_Sink(tracking_uri, experiment, register_prompt), name="MLflow", drain_s=drain_s)


class _Sink:
    def __init__(self, tracking_uri: str, experiment: str, prompt: str) -> None:
        self._uri, self._experiment, self._prompt = tracking_uri, experiment, prompt
        self._client: Any = None
        self._run = ""
        self._place = Path()

    def take(self, event: Event) -> None:
        """Start, figures, end."""
        if isinstance(event, RunStart):
            self._start(event)
        if not self._run:
            return
        self._log(event)
        if isinstance(event, RunEnd):
            for path in artifacts(self._place):
                self._client.log_artifact(self._run, str(path))
            self._client.set_tag(self._run, "skillopt.stopped", event.reason)
            self._client.set_terminated(self._run, _status(event))
            if self._prompt and event.summary is not None:
                self._register(event)

    def _register(self, event: RunEnd) -> None:
        """Add the best skill to the prompt's versions, unless it is the newest one already."""
        text = (self._place / BEST_SKILL).read_text(encoding="utf-8")
        gone: Any = importlib.import_module("mlflow.exceptions").MlflowException
        try:
            newest = self._client.get_prompt_version_by_alias(self._prompt, "latest")
        except gone as error:
            if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                raise
            newest = None
        if text.strip() and (newest is None or newest.template != text):
            tags = {_TAG: event.run_id, "skillopt.mlflow_run": self._run}
            said = f"best skill of {self._place.resolve().name}"
            self._client.register_prompt(self._prompt, text, commit_message=said, tags=tags)

    def _log(self, event: Event) -> None:
        if event.replayed:
            return
        made: Any = importlib.import_module("mlflow.entities").Metric
        step, stamp = step_of(event), int(event.time * 1000)
        metrics = [made(_name(name), value, stamp, step) for name, value in metrics_of(event).items()]
        for at in range(0, len(metrics), _AT_ONCE):
            self._client.log_batch(self._run, metrics=metrics[at : at + _AT_ONCE])

    def _start(self, event: RunStart) -> None:
        mlflow: Any = importlib.import_module("mlflow")
        self._client = mlflow.MlflowClient(self._uri or None)
        self._place = Path(event.out_root)
        store = self._uri or str(mlflow.get_tracking_uri())
        self._run = self._known(event, store) or self._created(event)
        self._client.update_run(self._run, status="RUNNING")
        remember_run(self._place, "mlflow", store, self._run)
        param: Any = importlib.import_module("mlflow.entities").Param
        had: dict[str, str] = self._client.get_run(self._run).data.params
        # A parameter is never changed in MLflow: what an extended run changes (more epochs) is told by its tag.
        new = {name: value for name, value in parameters(event).items() if name not in had}
        self._client.log_batch(self._run, params=[param(_name(k), v[:500]) for k, v in new.items()])

    def _known(self, event: RunStart, store: str) -> str:
        """The id of the MLflow run that this run began; blank for a new one, or where it was deleted."""
        gone: Any = importlib.import_module("mlflow.exceptions").MlflowException
        kept = known_run(self._place, "mlflow", store)
        if kept:
            try:
                if self._client.get_run(kept).info.lifecycle_stage == "active":
                    return kept
            except gone as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
        experiment = self._client.get_experiment_by_name(self._experiment)
        if experiment is None:
            return ""
        tagged = f"tags.`{_TAG}` = '{event.run_id}'"
        found = self._client.search_runs([experiment.experiment_id], filter_string=tagged)
        return str(found[0].info.run_id) if found else ""

    def _created(self, event: RunStart) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
        tags = {_TAG: event.run_id, "mlflow.runName": self._place.resolve().name}
        return str(self._client.create_run(experiment, tags=tags).info.run_id)

    def close(self) -> None:
        """Every figure is written as it comes."""


def _status(event: RunEnd) -> str:
    """A budget and patience end a run as it was asked to end; Ctrl-C does not."""
    if event.outcome == "stopped" and event.summary is None:
        return "KILLED"
    return "FAILED" if event.outcome == "failed" else "FINISHED"


def _name(name: str) -> str:
    return re.sub(r"[^\w\-./ ]", "_", name)
