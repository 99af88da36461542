"""Real processes with the scripted backend: what a user types, in a directory of its own."""

from __future__ import annotations

import os
import shutil
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


@pytest.fixture(scope="session")
def fresh_project(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of `skillopt init` on the scripted backend; nothing in it says where it lies."""
    place = tmp_path_factory.mktemp("init")
    made = zygote.run(["init", "project", "--backend", "scripted"], environ={"CI": "true"}, cwd=place)
    assert made.code == 0, made.err
    for path in (place / "project").rglob("*"):
        assert not path.is_file() or str(place).encode() not in path.read_bytes()
    return place / "project"


@pytest.fixture
def project(fresh_project: Path, tmp_path: Path) -> Path:
    """A copy of the fresh project."""
    return Path(shutil.copytree(fresh_project, tmp_path / "project"))
