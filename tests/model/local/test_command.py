"""`skillopt model`: one line for each fault, exit codes, no way to the outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillopt.cli.commands.model import app


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SKILLOPT_MODEL_FILE", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def test_list_names_size_licence_and_absence() -> None:
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("qwen"))
    assert row == ["qwen2.5-coder-1.5b", "1.12", "GB", "Apache-2.0", "no"]


def test_pull_refuses_another_file(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    result = CliRunner().invoke(app, ["pull", "--file", str(other)])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert f"{other} is not qwen2.5-coder-1.5b: 4 bytes instead of 1,117,320,768" in result.stderr


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    result = CliRunner().invoke(app, ["probe", "qwen2.5-coder"])
    assert result.exit_code == 2
    assert "did you mean 'qwen2.5-coder-1.5b'" in result.stderr
