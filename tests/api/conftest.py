"""One small run that several tests read, and what all of them start from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.testing.toy import toy_item

SMALL: Mapping[str, object] = {
    "train.num_epochs": 2,
    "train.batch_size": 8,
    "optimizer.learning_rate": 2,
    "evaluation.gate_rule": "strict",  # four selection items prove nothing
}
ITEMS = [dict(toy_item(n)) for n in range(40)]


def right(answer: str, item: Mapping[str, Any]) -> bool:
    """A scorer that a module on disk holds."""
    return answer == item["answer"]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> skillopt.Result:
    """A run that accepted something."""
    out = tmp_path_factory.mktemp("finished") / "run"
    return skillopt.optimize(ITEMS, scorer="exact", target="scripted", overrides=SMALL, out=out)
