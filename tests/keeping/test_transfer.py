"""Skills away from home: gains against no skill under each target, and what is left of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.api.keeping.grid import NO_SKILL, Cell, Grid
from skillopt.api.keeping.transfer import transfer_of
from skillopt.api.shown.paired_table import PairedTable
from skillopt.cli.main import invoke
from skillopt.core.skill import Skill
from skillopt.gate.interval import mean_interval

ITEMS = 20


def grid_of(passed: dict[tuple[str, str], int]) -> Grid:
    """Cells in which so many of the items are passed, the first ones."""
    cells = tuple(
        Cell(skill, target, {f"i{n}": float(n < count) for n in range(ITEMS)})
        for (skill, target), count in passed.items()
    )
    skills = {skill: Skill(skill) for skill, _ in passed}
    return Grid(Path(), skills, tuple(dict.fromkeys(t for _, t in passed)), cells, PairedTable((), ()))


def test_gains_and_what_is_left_of_them() -> None:
    grid = grid_of({
        (NO_SKILL, "big"): 10, ("of big", "big"): 20, ("of small", "big"): 5,
        (NO_SKILL, "small"): 2, ("of big", "small"): 6, ("of small", "small"): 10,
    })  # fmt: skip
    moved = {(m.skill, m.target): m for m in transfer_of(grid, {"of big": "big", "of small": "small"})}
    away, harmful = moved["of big", "small"], moved["of small", "big"]
    assert (away.gain, away.kept, away.of_own, away.at_home) == (pytest.approx(0.2), pytest.approx(0.4), 0.5, False)
    assert away.interval == mean_interval([1.0] * 4 + [0.0] * 16, alpha=0.05 / 4)
    assert (harmful.gain, harmful.kept, harmful.of_own) == (-0.25, pytest.approx(-0.625), -0.5)
    home = moved["of big", "big"]
    assert (home.at_home, home.kept, home.words) == (True, 1.0, "helps")


def test_what_was_not_measured_is_left_out() -> None:
    grid = grid_of({(NO_SKILL, "a"): 10, ("x", "a"): 10, ("x", "b"): 3})
    (only,) = transfer_of(grid, {"x": "a"})
    assert (only.target, only.gain, only.kept, only.words) == ("a", 0.0, None, "unclear")


def test_the_skill_of_a_run_under_another_model(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty.md").write_text("# Boxes\n")
    trained = ["train", "--config", "config.yaml", "--yes", "env.skill_init=empty.md", "env.out_root=run",
               "train.num_epochs=1", "train.batch_size=10", "model.target=first"]  # fmt: skip
    assert invoke(trained) == 0
    asked = ["transfer", "--config", "config.yaml", "--skill", "run", "--skill", "half.md", "--model", "second",
             "--harness", "scripted", "env.out_root=out"]  # fmt: skip
    capsys.readouterr()
    assert invoke(asked) == 0
    shown = capsys.readouterr().out
    assert (
        "run (home)" in shown
        and "scripted:second" in shown
        and "On 40 items; the 4 intervals hold all at once" in " ".join(shown.split())
    )
    found = json.loads((project / "out/transfer.json").read_text())
    assert found["homes"] == {"run": "scripted:first", "half": ""}
    rows = {(row["skill"], row["target"]): row for row in found["rows"]}
    assert rows["run", "scripted:second"]["gain"] == rows["run", "scripted:first"]["gain"] > 0
    assert rows["half", "scripted:first"]["kept"] is None
    assert invoke(["transfer", "--config", "config.yaml", "--skill", "gone"]) == 2
    assert "gone: no such run or skill" in capsys.readouterr().err
