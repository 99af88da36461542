"""Real processes with the scripted backend: what a user types, in a directory of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.testing.zygote import Zygote

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("train", "--config", …)` is `python -m skillopt` in the test's directory."""
    for name in os.environ:
        if name.startswith(("OPENAI", "OPTIMIZER", "TARGET")):
            monkeypatch.delenv(name)

    def start(
        *arguments: str, cwd: Path | None = None, encoding: str = "utf-8", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        ended = zygote.run(arguments, environ={"CI": "true", **environ}, cwd=cwd or tmp_path, encoding=encoding)
        return subprocess.CompletedProcess(arguments, ended.code, ended.out, ended.err)

    return start


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """A fresh project of `skillopt init` on the scripted backend."""
    made = run("init", "project", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    return tmp_path / "project"
