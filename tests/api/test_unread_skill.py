"""A score of an agent that did not read the skill says nothing about it: the result itself has to say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import skillopt
from tests.api.conftest import ITEMS

UNREAD = "the skill was read in 0 of 6 rollouts: the scores say nothing about it"
LOOP = {"model.target_agent": "tool_loop"}
FEW = {"train": ITEMS[:3], "selection": ITEMS[3:6], "test": ITEMS[6:12]}


@pytest.mark.parametrize("names", [["rules"], ["rules", "more"]])
def test_evaluate_says_it_above_its_table_in_every_form(names: list[str], tmp_path: Path) -> None:
    found = skillopt.evaluate(
        **FEW, skills={name: f"# {name}" for name in names}, scorer="exact", target="scripted", overrides=LOOP,
        out=tmp_path,
    )  # fmt: skip
    told = [f"{name}: {UNREAD}" for name in names] if len(names) > 1 else [UNREAD]
    assert [text.partition(" (")[0] for text in found.notices] == told
    shown = found._repr_mimebundle_()
    assert all(text.index(told[-1]) < text.index(" on 6") for text in (str(found), *shown.values()))
    assert found.to_dict()["notices"] == list(found.notices)


def test_a_target_that_is_shown_the_skill_has_nothing_to_read(tmp_path: Path) -> None:
    found = skillopt.evaluate(**FEW, skills="# Rules", scorer="exact", target="scripted", out=tmp_path)
    assert not found.notices and "warning" not in str(found) and "notices" not in found.to_dict()


def test_compare_says_it_of_each_column_that_had_a_skill(tmp_path: Path) -> None:
    found = skillopt.compare(
        items=ITEMS, skills={"rules": "# Rules"}, targets=["scripted"], scorer="exact", overrides=LOOP, out=tmp_path
    )
    first, *rest = str(found).splitlines()
    assert first.startswith("warning: rules: the skill was read in 0 of ")
    assert not any(line.startswith("warning") for line in rest)


def test_an_evaluation_says_why_attempts_have_no_score(tmp_path: Path) -> None:
    def down(answer: str, item: object) -> skillopt.Missing:
        return skillopt.Missing("the meter is off")

    found = skillopt.evaluate(ITEMS[:12], scorer=down, target="scripted", skills="", out=tmp_path, split="all")
    assert found.notices == ("12 of 12 attempts could not be measured; the first: the meter is off",)
    assert "the meter is off" in str(found)
