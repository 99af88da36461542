"""The shipped configurations are found where there is no checkout, and a wrong name is told the right ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config import load_config
from skillopt.core.errors import ConfigError
from skillopt.envs.registry import settings_schemas


def test_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schemas = settings_schemas()
    shipped = load_config(Path("configs/docvqa/sample.yaml"), environ={}, env_schemas=schemas).config
    assert shipped.env.name == "docvqa" and shipped.train.num_epochs == 2
    own = tmp_path / "configs/docvqa/sample.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("env: {name: docvqa}\ntrain: {num_epochs: 9}\n")
    assert load_config(Path("configs/docvqa/sample.yaml"), environ={}, env_schemas=schemas).config.train.num_epochs == 9


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("configs/docvqa/gemini.yaml", "known: configs/docvqa/claude_code.yaml, configs/docvqa/codex.yaml"),
        ("configs/docqa/default.yaml", "configs/docvqa/default.yaml"),
        ("mine/none.yaml", "No such file or directory"),
    ],
)
def test_a_name_that_is_no_file(name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_config(Path(name), environ={}, env_schemas=settings_schemas())
    assert told in str(caught.value) and "\n" not in str(caught.value)
    assert ("known:" in str(caught.value)) is name.startswith("configs/")
