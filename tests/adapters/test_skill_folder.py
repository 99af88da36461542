"""Folders with skill-creator's evals: both spellings, a whole run with the package, and what cannot be judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skillopt
from skillopt import adapters
from skillopt.core.errors import DataError

HEADER = "---\nname: boxes\ndescription: Use for boxes.\n---\n# Boxes\n"


def folder(place: Path, evals: list[dict[str, object]]) -> Path:
    """A skill's directory."""
    (place / "evals").mkdir(parents=True)
    (place / "SKILL.md").write_text(HEADER)
    (place / "evals/evals.json").write_text(json.dumps({"skill_name": "boxes", "evals": evals}))
    return place


def test_each_expectation_is_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evals = [
        {"id": n, "prompt": f"Box {n} is of kind 1 and holds amber. What is in it?", "expected_output": "amber",
         **({"expectations": ["names it", "is polite"]} if n % 2 else {"assertions": [{"text": "names it"}]})}
        for n in range(1, 13)
    ]  # fmt: skip
    asked: list[str] = []

    async def judge(messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        asked.append(text)
        verdicts = [{"criterion": 1, "reason": "yes", "met": True}]
        if "is polite" in text:
            verdicts.append({"criterion": 2, "reason": "curt", "met": False})
        return json.dumps({"verdicts": verdicts})

    adapted = adapters.skill_folder(folder(tmp_path / "boxes", evals), judge=judge)
    assert adapted.items[0]["criteria"] == ["names it", "is polite"] and adapted.items[1]["criteria"] == ["names it"]
    found = skillopt.evaluate(
        adapted, target="scripted", skills={"it": tmp_path / "boxes/SKILL.md"}, split="all", out="o",
        overrides={"evaluation.gate_metric": "soft"},
    )  # fmt: skip
    assert found.scores["it"] == {str(n): 0.5 if n % 2 else 1.0 for n in range(1, 13)}
    assert any("amber" in text for text in asked), "the expected output is shown to the judge"


@pytest.mark.parametrize(
    ("evals", "words"),
    [
        ([], "no evals"), ([{"prompt": ""}], "eval 1 has no prompt"), ([{"prompt": "a"}], "neither expectations nor"),
        ([{"prompt": "a", "expectations": [""]}], "neither expectations nor"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged(tmp_path: Path, evals: list[dict[str, object]], words: str) -> None:
    with pytest.raises(DataError, match=words):
        adapters.skill_folder(folder(tmp_path / "x", evals))


def test_an_expected_output_alone_is_the_one_criterion(tmp_path: Path) -> None:
    evals: list[dict[str, object]] = [{"prompt": "a", "expected_output": "b", "files": ["f.csv"]}]
    adapted = adapters.skill_folder(folder(tmp_path / "x", evals))
    assert adapted.items[0]["criteria"] == ["The answer is what was expected: b"]
    assert adapted.notes == ("1 evals name files; a chat target sees their names only",)
    assert adapted.keys["env.skill_init"] == str(tmp_path / "x"), "the whole package is where training starts"
