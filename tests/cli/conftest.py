"""Real processes with the scripted backend: what a user types, in a directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("train", "--config", …)` starts `python -m skillopt` in the test's directory."""

    def start(
        *arguments: str, cwd: Path | None = None, encoding: str = "utf-8", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "OPTIMIZER", "TARGET"))}
        env |= {"CI": "true", "PYTHONIOENCODING": encoding, **environ}
        return subprocess.run(
            [sys.executable, "-m", "skillopt", *arguments],
            cwd=cwd or tmp_path,
            env=env,
            capture_output=True,
            encoding=encoding,
            timeout=120,
        )

    return start


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """A fresh project of `skillopt init` on the scripted backend."""
    made = run("init", "project", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    return tmp_path / "project"
