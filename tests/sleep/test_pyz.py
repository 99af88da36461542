"""S42: one file runs where nothing is installed, and takes from the house only the rooms in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.sleep.pyz import build


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pyz") / "skillopt-sleep.pyz"
    build(target)
    return target


def bare(archive: Path, *argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Isolated: no site packages, no variables, nothing of this tree."""
    command = [sys.executable, "-I", "-S", str(archive), *argv]
    return subprocess.run(
        command, cwd=cwd, env={"HOME": str(cwd)}, capture_output=True, text=True, timeout=60, check=False
    )


def test_s42_help_and_plan_runbare(archive: Path, tmp_path: Path) -> None:
    shown = bare(archive, "--help", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "harvest" in shown.stdout
    planned = bare(archive, "plan", "--json", cwd=tmp_path)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert '"n_tasks": 0' in planned.stdout
    assert (tmp_path / ".skillopt-sleep" / "projects").is_dir()


def test_the_same_sources_give_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    build(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == archive.read_bytes()


def test_help_loads_nothing_that_only_a_run_needs(archive: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(archive), "--help"]
    shown = subprocess.run(
        command, cwd=tmp_path, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    loaded = {line.rsplit("|", 1)[-1].strip() for line in shown.stderr.splitlines() if line.startswith("import time:")}
    assert "skillopt.sleep.cli.main" in loaded
    assert not loaded & {"asyncio", "sqlite3", "skillopt.core.redact", "skillopt.sleep.survey", "skillopt.sleep.redact"}
