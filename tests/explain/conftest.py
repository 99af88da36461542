"""Whole runs, one for each mode, made when a test first asks for it and kept for the context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.explain.toy_runs import run, write_project

MODES: dict[str, dict[str, Any]] = {
    "strict": {},
    "paired": {"evaluation__gate_rule": "paired", "evaluation__gate_alpha": 0.3, "train__seed": 3},
    "gate off": {"evaluation__use_gate": False},
    "everything": {
        "train__num_epochs": 3,
        "optimizer__use_skill_aware_reflection": True,
        "optimizer__use_slow_update": True,
        "optimizer__use_meta_reflect": True,
        "optimizer__slow_update_gate_with_selection": False,
        "optimizer__skill_aware_gate_with_selection": False,
    },
    "suggestions": {"optimizer__skill_update_mode": "rewrite_from_suggestions"},
    "documents": {"optimizer__skill_update_mode": "full_rewrite_minibatch"},
    "raced": {"optimizer__proposals": 2},
    "accumulated": {"train__accumulation": 2, "train__batch_size": 4},
}


class Runs:
    """Run directories by mode. A test that changes one works on a copy."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __getitem__(self, mode: str) -> Path:
        folder = self._root / mode.replace(" ", "_")
        if not (folder / "run" / "summary.json").exists():
            run(write_project(folder, **MODES[mode]), folder / "run")
        return folder / "run"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))
