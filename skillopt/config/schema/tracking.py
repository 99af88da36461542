"""The section `tracking`: which tools record the run. None of it can change a result, nor is it part of any key."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BeforeValidator

from skillopt.config.keys import Key, Section
from skillopt.config.suggestions import nearest

TRACKERS = ("mlflow", "wandb", "otel")
"""The names that `tracking` takes; each is an extra of the same name."""


def _named(value: object) -> object:
    """Names as a list or a text with commas, each once; blank is none. Raises `ValueError` for an unknown one."""
    if value is None:
        return None
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, (list, tuple)):
        raise ValueError(f"expected one of {', '.join(TRACKERS)}, or a list of them")
    names = [str(word).strip().lower() for word in cast("list[object]", words)]
    for name in names:
        if name and name not in TRACKERS:
            raise ValueError(f"unknown tracker {name!r}{nearest(name, TRACKERS)}; one of {', '.join(TRACKERS)}")
    return tuple(dict.fromkeys(name for name in names if name)) or None


class TrackingSection(Section):
    """Tools that record the run; `tracking: mlflow` is short for the section with this one key."""

    trackers: Annotated[tuple[str, ...] | None, BeforeValidator(_named), Key(flat=("tracking",), change="any")] = None
    """One name, or a list of them: mlflow, wandb, otel. Each needs the extra of its name; null records nowhere else."""
    mlflow_uri: Annotated[str, Key(change="any")] = ""
    """MLflow's store (`sqlite:///mlflow.db`, a server's address); blank takes MLFLOW_TRACKING_URI or MLflow's own."""
    mlflow_experiment: Annotated[str, Key(change="any")] = "skillopt"
    """MLflow experiment that the run is recorded in."""
    mlflow_prompt: Annotated[str, Key(change="any")] = ""
    """Name under which a training's best skill is registered as a version of an MLflow prompt; blank registers none."""
    wandb_project: Annotated[str, Key(change="any")] = "skillopt"
    """W&B project that the run is recorded in."""
    wandb_mode: Annotated[Literal["", "online", "offline"], Key(change="any")] = ""
    """W&B: online, or offline into files; blank takes WANDB_MODE."""
    otel_capture_content: Annotated[bool, Key(change="any")] = False
    """OpenTelemetry: send what was asked and answered too (secrets are taken out); otherwise figures and names only."""
