"""Skills by targets on the same items: right numbers, one family of claims, nothing paid twice."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, DataError
from skillopt.gate.interval import mean_interval
from skillopt.testing.toy import toy_item

ITEMS = [toy_item(n) for n in range(80)]
RULES = "".join(f"RULE {kind}\n" for kind in range(8))


def test_a_grid_of_skills_and_targets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "--config", "config.yaml", "--skill", "rules=skill.md", "--skill", "half.md", "--model", "a",
             "--model", "b", "env.out_root=out"]  # fmt: skip
    assert invoke(asked) == 0
    shown = capsys.readouterr().out
    assert "rules / a → half / a" in shown and "The 9 intervals hold all at once" in shown
    found = json.loads((project / "out/compare.json").read_text())
    scores = {row["name"]: row["mean"] for row in found["scores"]}
    assert set(scores) == {" / ".join(p) for p in itertools.product(("no skill", "rules", "half"), "ab")}
    assert scores["rules / a"] == 1.0 and scores["no skill / a"] < scores["half / a"] < 1.0
    assert len({(row["n"], row["total"]) for row in found["scores"]}) == 1, "the same items in every column"
    pair = next(p for p in found["pairs"] if (p["a"], p["b"]) == ("no skill / b", "rules / b"))
    lost = round(40 * scores["no skill / b"])
    assert pair["wins"] == 40 - lost and pair["interval"][0] > 0
    assert tuple(pair["interval"]) == mean_interval([1.0] * (40 - lost) + [0.0] * lost, alpha=0.05 / 9)
    assert all(
        a.split(" / ")[0] == b.split(" / ")[0] or a[-1] == b[-1] for a, b in ((p["a"], p["b"]) for p in found["pairs"])
    )
    assert invoke([*asked, "--replay", "--json"]) == 0, "everything was paid for"
    assert json.loads(capsys.readouterr().out)["scores"] == found["scores"]


def test_the_same_command_goes_on_in_its_own_directory(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "--config", "config.yaml", "--skill", "skill.md"]
    assert invoke(asked) == 0 and invoke(asked) == 0
    capsys.readouterr()
    (place,) = (project / "outputs").glob("compare_*")
    journals = list(place.rglob("journal.sqlite"))
    assert len(journals) == 2, "no skill and the skill, once each"


def test_a_package_is_one_column_and_its_files_are_part_of_it(project: Path) -> None:
    for name, text in (("one", "a"), ("two", "b")):
        (project / name / "references").mkdir(parents=True)
        (project / name / "SKILL.md").write_text("---\nname: boxes\ndescription: Use for boxes.\n---\n" + RULES)
        (project / name / "references/kinds.md").write_text(text)
    assert invoke(["compare", "--config", "config.yaml", "--skill", "one", "--skill", "two", "env.out_root=out"]) == 0
    assert len(list((project / "out").rglob("journal.sqlite"))) == 3, "equal SKILL.md, other files: another skill"


def test_from_python_with_models_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def obeys(messages: list[dict[str, str]]) -> str:
        question = messages[-1]["content"]
        return question.split("holds ")[1].split(".")[0] if "RULE" in messages[0]["content"] else "unknown"

    async def deaf(messages: list[dict[str, str]]) -> str:
        return "unknown"

    found = skillopt.compare(
        items=ITEMS, scorer="exact", skills={"rules": RULES}, targets={"obeys": obeys, "deaf": deaf}, out="out"
    )
    assert found.grid is not None
    means = {score.name: score.mean for score in found.table.scores}
    assert means == {"no skill / obeys": 0.0, "rules / obeys": 1.0, "no skill / deaf": 0.0, "rules / deaf": 0.0}
    words = {(p.a, p.b): p.words for p in found.table.pairs}
    assert words["no skill / obeys", "rules / obeys"] == "rules / obeys is better"
    assert words["rules / obeys", "rules / deaf"] == "rules / obeys is better"
    assert words["no skill / deaf", "rules / deaf"] == "not distinguishable"
    assert len(words) == 4, "pairs that differ in one thing"
    assert "| skill | score |" in found._repr_mimebundle_()["text/markdown"]


def test_a_target_that_is_down_is_a_fault_of_its_columns_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def broken(messages: list[dict[str, str]]) -> str:
        raise TypeError("no such argument")

    asked = {"items": ITEMS, "scorer": "exact", "skills": {"rules": RULES}}
    found = skillopt.compare(**asked, targets={"scripted": "scripted", "down": broken}, out="out")
    assert found.grid is not None
    faults = {(c.skill, c.target): c.fault for c in found.grid.cells}
    assert "no such argument" in faults["rules", "down"] and not faults["rules", "scripted"]
    assert [(p.a, p.b) for p in found.table.pairs] == [("no skill / scripted", "rules / scripted")]
    with pytest.raises(DataError, match="0 of 2 columns"):
        skillopt.compare(**asked, targets={"down": broken}, out="down")


def test_what_cannot_be_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for asked, words in (
        ([], "two run directories"),
        (["--config", "config.yaml", "--without-no-skill", "--skill", "skill.md"], "nothing to compare"),
        (["--config", "config.yaml", "--skill", "gone.md"], "no such file"),
        (["--config", "config.yaml", "--skill", "a=skill.md", "--skill", "a=skill.md"], "stands twice"),
    ):
        assert invoke(["compare", *asked]) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1
    with pytest.raises(DataError, match="either finished runs"):
        skillopt.compare("a", skills={"a": ""})
    with pytest.raises(ConfigError, match="nothing to compare"):
        skillopt.compare(items=ITEMS, scorer="exact", skills={}, targets=["scripted"])
    assert not (project / "outputs").exists()
