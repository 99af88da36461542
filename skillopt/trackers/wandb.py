"""Weights & Biases (extra `wandb`): figures by step, the summary, skill and report as files.

Address, key and mode are W&B's own variables (`WANDB_API_KEY`, `WANDB_MODE=offline` …). A run that goes on after a stop
goes on under the same id, which is the run's own.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from skillopt.records.events import Event, RunEnd, RunStart
from skillopt.trackers.base import Tracker, metrics_of, step_of
from skillopt.trackers.extra import need
from skillopt.trackers.facts import artifacts, parameters


class WandB(Tracker):
    """See the module. Blank settings take W&B's own; `directory` is where its files go."""

    def __init__(
        self, *, project: str = "skillopt", mode: str = "", directory: str | Path = "", drain_s: float = 60.0
    ) -> None:
        need("wandb", "wandb")
        super().__init__(_Sink(project, mode, str(directory)), name="WandB", drain_s=drain_s)


class _Sink:
    def __init__(self, project: str, mode: str, directory: str) -> None:
        self._project, self._mode, self._directory = project, mode, directory
        self._run: Any = None
        self._place = Path()

    def take(self, event: Event) -> None:
        """Start, figures, end."""
        if isinstance(event, RunStart):
            self._start(event)
        if self._run is None:
            return
        metrics = {} if event.replayed else metrics_of(event)
        if isinstance(event, RunEnd):
            self._run.summary.update({**metrics, "outcome": event.outcome, "stopped": event.reason})
            for path in artifacts(self._place):
                self._run.save(str(path), base_path=str(self._place), policy="now")
            self._finish(1 if event.outcome == "failed" else 0)
        elif metrics:
            self._run.log({**metrics, "step_number": step_of(event)})

    def _start(self, event: RunStart) -> None:
        self._place = Path(event.out_root).resolve()
        wandb: Any = importlib.import_module("wandb")
        self._run = wandb.init(
            project=self._project,
            id=event.run_id,
            resume="allow",
            name=self._place.name,
            mode=self._mode or None,
            dir=self._directory or None,
            config=parameters(event),
            settings=wandb.Settings(silent=True, console="off"),
        )

    def _finish(self, code: int) -> None:
        run, self._run = self._run, None
        run.finish(exit_code=code)

    def close(self) -> None:
        """Write what is open."""
        if self._run is not None:
            self._finish(0)
