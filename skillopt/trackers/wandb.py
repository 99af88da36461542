"""Weights & Biases (extra `wandb`): figures by step, the summary, skill and report as files.

Address, key and mode are W&B's own variables (`WANDB_API_KEY`, `WANDB_MODE=offline` …). A run that goes on after a stop
goes on under the same id.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from skillopt.records.events import Event, RunEnd, RunStart
from skillopt.trackers.base import Tracker, metrics_of, step_of
from skillopt.trackers.extra import need


class WandB(Tracker):
    """See the module. Blank settings take W&B's own."""

    def __init__(
        self, *, project: str = "skillopt", mode: str = "", directory: str | Path = "", drain_s: float = 60.0
    ) -> None:
        need("wandb", "wandb")
        super().__init__(_Sink(project, mode, str(directory)), name="WandB", drain_s=drain_s)


class _Sink:
    def __init__(self, project: str, mode: str, directory: str) -> None:
        self._project, self._mode, self._directory = project, mode, directory
        self._run: Any = None
        self._place: Path | None = None

    def take(self, event: Event) -> None:
        """Start, figures, end."""
        if isinstance(event, RunStart):
            self._place = Path(event.out_root)
            self._run = importlib.import_module("wandb").init(
                project=self._project,
                id=event.run_id,
                resume="allow",
                name=self._place.name,
                mode=self._mode or None,
                dir=self._directory or None,
                config={
                    "env": event.env,
                    "gate_rule": event.gate_rule,
                    "total_steps": event.total_steps,
                    **{f"{role.role}_model": f"{role.backend}:{role.model}" for role in event.roles},
                },
            )
        metrics = metrics_of(event)
        if self._run is None:
            return
        if isinstance(event, RunEnd):
            self._run.summary.update(metrics)
            self.close()
        elif metrics:
            self._run.log({**metrics, "step_number": step_of(event)})

    def close(self) -> None:
        """Write what is open."""
        if self._run is not None:
            run, self._run = self._run, None
            run.finish()
