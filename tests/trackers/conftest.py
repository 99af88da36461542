"""A small real run that trackers watch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.testing.toy import toy_item

ITEMS = [dict(toy_item(n)) for n in range(40)]
SHORT: dict[str, object] = {"train.num_epochs": 1, "train.batch_size": 12}


def run(place: Path, *observers: object, overrides: dict[str, object] | None = None, **more: Any) -> skillopt.Result:
    """Train on the toy task."""
    return skillopt.optimize(
        ITEMS, scorer="exact", target="scripted", out=place, on_event=list(observers),
        overrides={**SHORT, **(overrides or {})}, **more,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OTEL_SEMCONV_STABILITY_OPT_IN", "MLFLOW_TRACKING_URI", "WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
