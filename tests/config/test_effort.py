"""Presets of effort: sensible from 24 items to 2,000, printed as keys, beaten by what is given explicitly."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import skillopt
from skillopt.cli.main import invoke
from skillopt.config.derived import Sizes, steps_per_epoch
from skillopt.config.effort import EFFORTS, effort_keys
from skillopt.core.errors import ConfigError
from skillopt.testing.toy import toy_item
from skillopt.testing.toy_task import write_config, write_data

DATA = [Sizes(5, 2, 17), Sizes(8, 8, 8), Sizes(48, 24, 48), Sizes(400, 200, 1400), Sizes(1200, 400, 400)]


@pytest.mark.parametrize("sizes", DATA)
def test_more_effort_is_more_work_at_every_size(sizes: Sizes) -> None:
    rollouts, steps, trials = [], [], []
    for effort in EFFORTS:
        keys = effort_keys(effort, sizes)
        batch, epochs = int(keys["train.batch_size"]), int(keys["train.num_epochs"])
        assert 1 <= batch <= min(100, sizes.train)
        steps.append(epochs * steps_per_epoch(sizes.train, batch, 1))
        rollouts.append(epochs * sizes.train)
        trials.append(int(keys["evaluation.gate_trial_items"]))
        assert keys["evaluation.gate_rule"] == "proof"
    assert rollouts == sorted(rollouts) and steps == sorted(steps) and trials == sorted(trials)
    assert steps[0] <= 16 and 12 <= steps[1] <= 30 and 24 <= steps[2] <= 60


def test_the_factorial_search_takes_only_its_length() -> None:
    assert set(effort_keys("heavy", DATA[2], factorial=True)) == {"train.num_epochs", "train.batch_size"}


def test_it_is_printed_as_keys_and_explicit_keys_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_data(tmp_path / "data", {"train": 48, "val": 24, "test": 24})
    config = write_config(tmp_path / "config.yaml", data)
    assert invoke(["plan", "--config", str(config), "--effort", "medium", "--batch_size", "12"]) == 0
    said = capsys.readouterr().out
    assert "effort medium (48 training and 24 selection items) sets train.num_epochs=10" in said
    assert "given explicitly and left alone: train.batch_size" in said
    assert "Plan: 40 steps, 4 an epoch" in said
    assert invoke(["train", "--config", str(config), "--effort", "great"]) == 2
    assert "choose light, medium, heavy" in capsys.readouterr().err
    assert invoke(["train", "--config", str(config), "--effort", "light", "--dry-run"]) == 0
    assert "--effort light" in capsys.readouterr().out


def test_init_writes_the_keys(tmp_path: Path) -> None:
    for effort in ("", "heavy"):
        place = tmp_path / (effort or "plain")
        assert invoke(["init", str(place), "--backend", "scripted", *(["--effort", effort] if effort else [])]) == 0
    heavy = yaml.safe_load((tmp_path / "heavy" / "config.yaml").read_text())
    plain = yaml.safe_load((tmp_path / "plain" / "config.yaml").read_text())
    assert plain["train"]["num_epochs"] == 2 and "gate_trial_items" not in plain["evaluation"]
    assert heavy["train"]["num_epochs"] > 2 and heavy["evaluation"]["gate_trial_items"] > 0
    assert invoke(["plan", "--config", str(tmp_path / "heavy" / "config.yaml"), "env.data_path="
                   + str(tmp_path / "heavy" / "data" / "tasks.jsonl"), "env.skill_init="]) == 0  # fmt: skip


def test_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = [toy_item(n) for n in range(60)]
    light = skillopt.plan(items, scorer="exact", target="scripted", effort="light")
    heavy = skillopt.plan(items, scorer="exact", target="scripted", effort="heavy")
    assert light.total_steps == 8 and heavy.total_steps == 40
    own = skillopt.plan(items, scorer="exact", target="scripted", effort="heavy", overrides={"train.num_epochs": 1})
    assert own.total_steps == 1
    with pytest.raises(ConfigError, match="choose light, medium, heavy"):
        skillopt.plan(items, scorer="exact", target="scripted", effort="huge")  # pyright: ignore[reportArgumentType]
