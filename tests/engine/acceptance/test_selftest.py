"""`skillopt selftest`: noise, what a gate can prove with it, and the warnings of a split that cannot decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.cli.main import invoke
from skillopt.gate.power import chance_to_pass, items_to_see, lucky, smallest_gain
from skillopt.testing.toy_task import write_config, write_data

NOISY = """
import random
from skillopt.core.hashing import digest
from skillopt.testing import toy

def respond(request):
    if "What is in box" not in request.messages[-1].content:
        return toy.respond(request)
    draw = random.Random(digest([request.key_fields(), request.repeat])).random()
    return toy._candidate(request.messages[-1].content) if draw < RATE else "unknown"
"""


def project(tmp_path: Path, rate: float | None, items: int = 60) -> list[str]:
    data = write_data(tmp_path / "data", {"train": 16, "val": items, "test": 12})
    changes = {}
    if rate is not None:
        script = tmp_path / "noisy.py"
        script.write_text(NOISY.replace("RATE", str(rate)))
        changes["model__scripted_script"] = str(script)
    config = write_config(tmp_path / "c.yaml", data, model__backend="scripted", **changes)
    return ["selftest", "--config", str(config), f"--env.out_root={tmp_path / 'run'}"]


def found(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "run/selftest.json").read_text())


def test_noise_is_measured_and_a_copy_is_no_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(project(tmp_path, 0.5)) == 0
    result = found(tmp_path)
    assert 0.25 < result["noise"] < 0.75
    assert result["verdicts"]["paired"] != "accept_new_best"
    assert result["smallest_gain"] > 0.1
    assert result["repeats_gain"]["4"] < result["smallest_gain"]
    said = capsys.readouterr().out
    assert "Noise floor" in said and "repeats an item" in said and "to see 5 points" in said


def test_a_target_that_always_says_the_same_has_no_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(project(tmp_path, None)) == 0
    assert found(tmp_path)["noise"] == 0
    assert "repeats add nothing" in capsys.readouterr().out


@pytest.mark.parametrize(("rate", "word"), [(1.0, "ceiling"), (0.0, "floor")])
def test_ceiling_and_floor_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: float, word: str) -> None:
    assert invoke(project(tmp_path, rate)) == 0
    assert f"warning: {word}" in capsys.readouterr().out


def test_a_run_in_the_same_directory_does_not_pay_for_the_first_draw_again(tmp_path: Path) -> None:
    arguments = project(tmp_path, 0.5, items=12)
    assert invoke(arguments) == 0
    before = json.loads((tmp_path / "run/selftest.json").read_text())
    assert invoke(["train", *arguments[1:], "--train.num_epochs=1", "--yes"]) == 0
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["baseline_selection_hard"] == before["first"]["hard"]


def test_power_agrees_with_counting() -> None:
    # Five items, no noise, every item won for certain: p = 1/32.
    assert chance_to_pass(5, 1.0, 0.0, alpha=0.05) == pytest.approx(1.0)
    assert chance_to_pass(4, 1.0, 0.0, alpha=0.05) == 0.0
    assert chance_to_pass(200, 0.0, 0.1, alpha=0.05) <= 0.05
    assert smallest_gain(3, 0.0, alpha=0.05) is None
    needed = items_to_see(0.1, 0.1, alpha=0.05)
    assert needed is not None
    assert chance_to_pass(needed, 0.1, 0.1, alpha=0.05) >= 0.8 > chance_to_pass(needed - 1, 0.1, 0.1, alpha=0.05) - 0.02
    assert items_to_see(0.001, 0.2, alpha=0.05) is None


def test_the_strict_rule_errs_as_published() -> None:
    """Issue 3: 27 to 40 % at 20 items, 44 to 47 % at 200, for 5 to 20 % discordance."""
    assert 0.24 < lucky(20, 0.05) < lucky(20, 0.2) < 0.42
    assert 0.42 < lucky(200, 0.05) < lucky(200, 0.2) < 0.48
