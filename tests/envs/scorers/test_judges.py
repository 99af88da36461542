"""Scorers that ask a judge: what is asked, what is read, repeats, both orders, and a judge without a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.core.errors import ConfigError, ModelError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.base import Env
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.judged import judge_calls, judge_texts, needs_judge
from skillopt.envs.registry import create_env
from skillopt.envs.scorers import build_scorer
from skillopt.envs.scoring import Scoring
from skillopt.model.types import ChatReply, ChatRequest, Usage
from skillopt.testing.toy import toy_item
from tests.envs.conftest import Config

ITEM = Item("q1", {"q": "Say hello to Ann.", "answer": "Hello, Ann."})


class Judge:
    model = "judge"

    def __init__(self, answer: Callable[[ChatRequest], Any]) -> None:
        self.answer, self.asked = answer, list[ChatRequest]()

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        said = self.answer(request)
        if isinstance(said, Exception):
            raise said
        return ChatReply(said if isinstance(said, str) else json.dumps(said), usage=Usage(10, 2))


def env(**scorer: Any) -> Env:
    return create_env("jsonl", Config(name="jsonl"), {"prompt_template": "{{ q }}", "scorer": scorer})


async def judged(one: Env, judge: Judge, answer: str = "<answer>Hi, Ann!</answer>") -> Outcome:
    return await outcome(one, ITEM, answer, Scoring(judge=judge))


def user(request: ChatRequest) -> str:
    return str(request.messages[1].content)


async def test_a_graded_rubric() -> None:
    one = env(name="rubric", text="Greets by name.", repeats=3)
    judge = Judge(lambda r: {"reason": f"draw {r.repeat}", "score": (9, 6, 9)[r.repeat]})
    got = await judged(one, judge)
    assert isinstance(got, Scored) and (got.hard, round(got.soft, 6), got.predicted) == (1.0, 0.8, "Hi, Ann!")
    assert got.detail["feedback"] == "draw 0 / draw 1 / draw 2" and got.detail["grades"] == [0.9, 0.6, 0.9]
    assert user(judge.asked[0]) == (
        "Task:\n```task\nSay hello to Ann.\n```\n\nAnswer:\n```answer\nHi, Ann!\n```\n\n"
        "Reference:\n```reference\nHello, Ann.\n```"
    )
    assert "Greets by name." in str(judge.asked[0].messages[0].content)
    assert needs_judge(one) and judge_calls(one) == 3 and judge_texts(one) == ["Greets by name."]
    low = await judged(one, Judge(lambda r: {"reason": "curt", "score": 6}))
    assert isinstance(low, Scored) and (low.hard, low.soft) == (0.0, 0.6) and low.fail_reason.startswith("graded 0.60")


async def test_criteria_are_met_by_majority() -> None:
    one = env(name="rubric", criteria=["greets", "names Ann"], repeats=3)

    def says(request: ChatRequest) -> Any:
        named = request.repeat != 1
        rows = [
            {"criterion": 2, "reason": "says Ann", "met": named},
            {"criterion": 1, "reason": "Hi", "met": not named},
        ]
        return {"verdicts": rows}

    got = await judged(one, Judge(says))
    assert isinstance(got, Scored) and (got.hard, got.soft) == (0.0, 0.5) and got.fail_reason == "not met: greets"
    assert got.detail["feedback"] == "not met: greets (Hi)\nmet: names Ann (says Ann)"


async def test_a_reply_that_cannot_be_read_is_asked_again_and_no_verdict_is_no_score() -> None:
    one = env(name="rubric", text="Good.")
    replies = iter(["It is fine.", {"reason": "r", "score": 11}, "7/10", {"reason": "better", "score": 10}])
    first, second = Judge(lambda r: next(replies)), Judge(lambda r: next(replies))
    got = await judged(one, first)
    assert isinstance(got, Missing) and got.error.startswith("the judge gave no verdict:") and len(first.asked) == 2
    assert isinstance(await judged(one, second), Scored) and len(second.asked) == 2
    down = await judged(one, Judge(lambda r: ModelError("connection refused")))
    assert down == Missing("the judge gave no verdict: connection refused")


async def test_pairs_are_judged_in_both_orders() -> None:
    one = env(name="pairwise", text="The kinder one.")
    first = Judge(lambda r: {"reason": "it comes first", "better": "A"})
    got = await judged(one, first)
    assert isinstance(got, Scored) and (got.hard, got.soft, got.detail["position"]) == (1.0, 0.5, 1.0)
    assert judge_calls(one) == len(first.asked) == 2
    texts = sorted(user(r).split("A:\n")[1].split("B:\n")[0] for r in first.asked)
    assert texts == ["```A\nHello, Ann.\n```\n\n", "```A\nHi, Ann!\n```\n\n"]
    ours = await judged(one, Judge(lambda r: {"reason": "", "better": "A" if "```A\nHi" in user(r) else "B"}))
    assert isinstance(ours, Scored) and (ours.hard, ours.soft, ours.detail["position"]) == (1.0, 1.0, 0.0)
    lost = await judged(one, Judge(lambda r: {"reason": "", "better": "B" if "```A\nHi" in user(r) else "tie"}))
    assert isinstance(lost, Scored) and (lost.hard, lost.soft) == (0.0, 0.25)


async def test_an_empty_answer_meets_nothing_and_asks_nobody() -> None:
    for scorer in ({"name": "rubric", "text": "Good."}, {"name": "pairwise", "text": "Better."}):
        judge = Judge(lambda r: "")
        got = await judged(env(**scorer), judge, "<answer> </answer>")
        assert got == Scored(0.0, 0.0, fail_reason="the answer is empty") and not judge.asked


def test_a_rubric_says_one_thing() -> None:
    for wrong in ({}, {"text": "a", "criteria": ["b"]}, {"criteria": [" "]}, {"text": "a", "repeats": 0}):
        with pytest.raises(ConfigError, match="scorer"):
            build_scorer({"name": "rubric", **wrong})
    assert (
        build_scorer({"name": "rubric", "text": "a"}).identity()
        != build_scorer({"name": "rubric", "text": "b"}).identity()
    )


SCRIPT = """
import json
from skillopt.testing import toy

def respond(request):
    if request.schema_name != "verdict":
        return toy.respond(request)
    text = str(request.messages[1].content)
    answer, gold = (text.split(f"```{name}\\n")[1].split("\\n```")[0] for name in ("answer", "reference"))
    return json.dumps({"reason": "compared", "score": 10 if answer == gold else 0})
"""


def test_a_run_is_judged_priced_and_replayed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    config = {"model": {"judge": "judge-model", "scripted_script": str(tmp_path / "script.py")},
              "env": {"scorer": {"name": "rubric", "text": "Equals the reference."}}}  # fmt: skip

    def run(name: str, **more: Any) -> Any:
        items = [toy_item(n) for n in range(40)]
        return skillopt.optimize(
            items,
            target="scripted",
            optimizer="scripted",
            config=config,
            out=tmp_path / name,
            overrides={"train.num_epochs": 2, "train.batch_size": 8},
            **more,
        )

    run("r")
    ledger = json.loads((tmp_path / "r/logs/ledger.json").read_text())["calls"]
    judged_calls = sum(row["calls"] for row in ledger if row["role"] == "judge")
    assert judged_calls > 40 and {row["model"] for row in ledger if row["role"] == "judge"} == {"judge-model"}
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert summary["models"]["judge"] == "judge-model" and summary["token_summary"]["judge"]["calls"] > 0
    before = (tmp_path / "r/summary.json").read_bytes()
    run("r", replay=True)
    assert (tmp_path / "r/summary.json").read_bytes() == before
