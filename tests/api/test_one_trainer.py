"""Rule 1: a run from Python is the command line's run, byte for byte, and writes the YAML that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.testing.toy_task import write_config, write_data
from skillopt.testing.trees import differences, tree
from tests.api.conftest import ITEMS, SMALL, right


def result_tree(run: Path) -> dict[str, bytes]:
    """What a run wrote, without the items that only the first one had to write."""
    return {name: data for name, data in tree(run).items() if not name.startswith("_given")}


def test_the_yaml_and_the_python_form_of_a_run_have_identical_directories(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    config = write_config(tmp_path / "config.yaml", data)
    assert invoke(["train", "--config", str(config), "--yes", f"env.out_root={tmp_path / 'cli'}"]) == 0
    from_yaml = skillopt.optimize(config=config, out=tmp_path / "yaml")
    from_python = skillopt.optimize(
        data, scorer={"name": "exact"}, target="scripted", out=tmp_path / "python", gate="strict",
        overrides={"train.num_epochs": 2, "train.batch_size": 8, "train.seed": 12, "gradient.minibatch_size": 4,
                   "optimizer.learning_rate": 2},
    )  # fmt: skip
    assert from_yaml.skill == from_python.skill and from_yaml.skill != from_yaml.initial
    expected = result_tree(tmp_path / "cli")
    assert len(expected) > 100
    assert differences(result_tree(from_yaml.directory), expected) == []
    assert differences(result_tree(from_python.directory), expected) == []


def test_its_yaml_repeats_it(finished: skillopt.Result, tmp_path: Path) -> None:
    assert "#" not in finished.config_yaml()
    file = tmp_path / "again.yaml"
    file.write_text(finished.config_yaml(), encoding="utf-8")
    assert invoke(["train", "--config", str(file), "--yes", f"env.out_root={tmp_path / 'again'}"]) == 0
    assert differences(result_tree(tmp_path / "again"), result_tree(finished.directory)) == []


def test_a_scorer_that_a_module_holds_is_written(tmp_path: Path) -> None:
    result = skillopt.optimize(ITEMS, scorer=right, target="scripted", overrides=SMALL, out=tmp_path / "run")
    assert "tests.api.conftest:right" in result.config_yaml()
    file = tmp_path / "again.yaml"
    file.write_text(result.config_yaml(), encoding="utf-8")
    again = skillopt.optimize(config=file, out=tmp_path / "again")
    assert differences(result_tree(again.directory), result_tree(result.directory)) == []


def test_objects_that_cannot_be_written_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from skillopt.testing.scripted import ScriptedBackend

    def own(answer: str, item: dict[str, Any]) -> bool:
        return answer == item["answer"]

    given: dict[str, Any] = {"scorer": own, "target": ScriptedBackend()}
    result = skillopt.optimize(ITEMS, **given, overrides=SMALL, out=tmp_path / "run")
    text = result.config_yaml()
    notes = [line for line in text.splitlines() if line.startswith("# ")]
    assert [note.split()[1] for note in notes] == ["model.target:", "model.optimizer:", "env.scorer:"]
    file = tmp_path / "again.yaml"
    file.write_text(text, encoding="utf-8")
    again = skillopt.optimize(config=file, **given, optimizer=given["target"], out=tmp_path / "again")
    assert differences(result_tree(again.directory), result_tree(result.directory)) == []
    capsys.readouterr()
    assert invoke(["train", "--config", str(file), "--yes", f"env.out_root={tmp_path / 'other'}"]) == 2
    error = capsys.readouterr().err
    assert "a function of a Python program" in error and error.count("\n") == 1


def test_replay_needs_no_model(finished: skillopt.Result) -> None:
    again = skillopt.optimize(
        ITEMS, scorer="exact", target="scripted", overrides=SMALL, out=finished.directory, replay=True
    )
    assert again.skill == finished.skill and again.verdict == finished.verdict
