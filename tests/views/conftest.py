"""One real tiny run for what recorded runs of earlier days do not hold: right answers and conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.toy_runs import run, write_project


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("view")
    run(write_project(root, train__num_epochs=1), root / "run")
    return root / "run"
