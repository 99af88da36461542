"""The positive control: gold answers first, nonsense next, and runs without a signal that end before they are spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.core.item import Item
from skillopt.envs.base import Env
from skillopt.envs.checks.control import Control, positive_control
from skillopt.envs.registry import create_env
from skillopt.testing.toy import toy_item
from tests.envs.conftest import Config

ITEMS = [Item(f"q{n}", {"q": f"{n}?", "answer": str(n)}) for n in range(12)]


def env(scorer: Any, **settings: Any) -> Env:
    return create_env("jsonl", Config(name="jsonl"), {"prompt_template": "{{ q }}", "scorer": scorer, **settings})


@pytest.mark.parametrize("form", ["answer_tag", "last_line", "whole", "boxed"])
@pytest.mark.parametrize("scorer", ["exact", "normalised", "contains", "numeric"])
async def test_gold_answers_are_right_in_every_form(scorer: str, form: str) -> None:
    assert await positive_control(env(scorer, answer_format=form), ITEMS) == Control(asked=8, right=8, same=0)


async def test_wrong_gold_answers_and_sameness_are_told_with_counts(tmp_path: Path) -> None:
    (tmp_path / "odd_scorers.py").write_text(
        "import itertools\ncount = itertools.count()\n"
        "def half(answer, item): return 0.5\n"
        "def never(answer, item): return {'hard': 0.0, 'soft': len(answer) / 100}\n"
        "def dice(answer, item): return (next(count) % 7) / 7\n"
        "def strict(answer, item): return int(answer) == int(item['answer'])\n"
    )

    def own(name: str) -> Env:
        return env({"name": "callable", "function": f"odd_scorers:{name}", "directory": str(tmp_path)})

    half = await positive_control(own("half"), ITEMS)
    assert half is not None and half.no_signal.endswith("the same score on 8 of 8 items") and half.right == 0
    never = await positive_control(own("never"), ITEMS)
    assert never is not None and not never.no_signal
    assert never.warnings == ["the scorer calls the gold answer wrong on 8 of 8 items, for example 'q0': 0"]
    dice = await positive_control(own("dice"), ITEMS, twice=True)
    assert dice is not None and dice.unstable >= 6 and "no function" in " ".join(dice.warnings)
    assert await positive_control(own("strict"), ITEMS) == Control(asked=8, right=8, same=0)
    assert await positive_control(env({"name": "rubric", "text": "Good."}), ITEMS) is None, "no judge at hand"


@pytest.mark.parametrize(
    ("scorer", "reason"),
    [
        (lambda answer, item: 0.5, "no signal: the scorer gives the gold answer and nonsense the same score"),
        (lambda answer, item: 0.9 if answer == "zqx vrrk" else 0.4, "no signal: the scorer gave all"),
        (lambda answer, item: answer != "zqx vrrk", "nothing to gain: with the initial skill all"),
    ],
)
def test_a_run_without_a_signal_ends_before_it_is_spent(
    scorer: Callable[[str, dict[str, Any]], float], reason: str, tmp_path: Path
) -> None:
    items = [toy_item(n) for n in range(60)]
    result = skillopt.optimize(items, scorer=scorer, target="scripted", out=tmp_path / "r")
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert reason in str(result.stopped) and reason in str(summary["stopped"])
    ledger = json.loads((tmp_path / "r/logs/ledger.json").read_text())["calls"]
    asked = [row for row in ledger if row["calls"] and row["stage"] not in ("probe", "baseline", "test")]
    assert not asked, "neither rollouts nor the optimizer"
