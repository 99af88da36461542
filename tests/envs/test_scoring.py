"""How `score` is called: both forms, threads, crashes, missing verdicts, scores stored with their answer."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError, ModelError, StopRun
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.checks.one_answer import outcome, scored
from skillopt.envs.registry import create_env
from skillopt.envs.scoring import ScoreContext, Scoring, score_attempt
from skillopt.store.journal import Journal

from .conftest import Config, write

ITEM = Item("q1", {"answer": "4"})


class Environment:
    """The least that scoring asks of an environment."""

    name, version = "mine", "1"


class Pure(Environment):
    def score(self, item: Item, text: str) -> Scored:
        self.thread = threading.current_thread()
        right = float(text == item.data["answer"])
        return Scored(right, right)


class Whole(Environment):
    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        self.thread = threading.current_thread()
        assert ctx.rollout.item == item and ctx.seed == 7
        return Scored(float(len(attempt.trajectory) == 1), 0.5)


class WholePlain(Environment):
    def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        self.thread = threading.current_thread()
        return Scored(1.0, ctx.seed / 10)


async def ask(env: Any, attempt: Attempt, scoring: Scoring | None = None) -> Outcome:
    return await outcome(env, ITEM, attempt, scoring or Scoring(seed=7))


async def test_all_forms_of_score_are_taken_and_plain_ones_leave_the_loop() -> None:
    main = threading.main_thread()
    pure, whole, plain = Pure(), Whole(), WholePlain()
    assert await ask(pure, Attempt(text="4")) == Scored(1.0, 1.0) and pure.thread is not main
    assert await ask(pure, Attempt(text="5")) == Scored(0.0, 0.0)
    assert await ask(whole, Attempt(trajectory=({"type": "message"},))) == Scored(1.0, 0.5) and whole.thread is main
    assert await ask(plain, Attempt()) == Scored(1.0, 0.7) and plain.thread is not main


@pytest.mark.parametrize("error", [SystemExit(3), KeyError("oops"), ValueError("")])
@pytest.mark.parametrize("plain", [True, False])
async def test_a_crash_is_the_scorers_and_names_the_item(error: BaseException, plain: bool) -> None:
    class Crashes(Environment):
        def score(self, item: Item, text: str) -> Scored:
            if isinstance(error, SystemExit):
                sys.exit(error.code)
            raise error

    class CrashesOnTheLoop(Environment):
        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
            raise error

    with pytest.raises(DataError, match=f"item 'q1': the scorer of 'mine' raised {type(error).__name__}") as caught:
        await ask(Crashes() if plain else CrashesOnTheLoop(), Attempt())
    assert type(caught.value.__cause__) is type(error)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1, True, "1", None])
async def test_only_finite_scores_from_0_to_1_pass(value: Any) -> None:
    class Odd(Environment):
        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
            return Scored(value, 0.0)

    with pytest.raises(DataError, match="item 'q1': the scorer returned hard="):
        await ask(Odd(), Attempt())


@pytest.mark.parametrize("value", [None, 1.0, Pending()])
async def test_what_is_no_outcome_is_refused(value: Any) -> None:
    class Odd(Environment):
        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Any:
            return value

    with pytest.raises(DataError, match="the scorer of 'mine' returned"):
        await ask(Odd(), Attempt())


async def test_no_verdict_is_missing_and_the_end_of_a_run_passes() -> None:
    class Judging(Environment):
        def __init__(self, error: Exception) -> None:
            self.error = error

        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
            raise self.error

    assert await ask(Judging(ModelError("503")), Attempt()) == Missing("the judge gave no verdict: 503")
    with pytest.raises(StopRun):
        await ask(Judging(StopRun("over")), Attempt())

    class Asks(Environment):
        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
            return Missing(ctx.judge.model)

    with pytest.raises(ConfigError, match="no judge model is at hand"):
        await ask(Asks(), Attempt())


class Random(Environment):
    """Says something else each time."""

    def __init__(self) -> None:
        self.calls = 0

    def score_rests_on(self, item: Item, attempt: Attempt) -> str:
        return ""

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        self.calls += 1
        return Scored(1.0, 1 / self.calls, detail={"feedback": f"call {self.calls}"})


async def test_a_score_is_stored_with_its_answer(tmp_path: Path) -> None:
    env, path = Random(), tmp_path / "journal.sqlite3"
    journal = Journal.open(path)
    given = Scoring(journal=journal)
    first = await ask(env, Attempt(text="a"), given)
    assert first == await ask(env, Attempt(text="a"), given) and env.calls == 1
    assert await ask(env, Attempt(text="b"), given) == Scored(1.0, 0.5, detail={"feedback": "call 2"})
    assert [e.kind for e in journal.entries()] == ["score", "score"] and sum(r.calls for r in journal.ledger()) == 0
    again: Any = env
    rollout = Rollout(ITEM, "", Pending(), repeat=1)
    other = await score_attempt(again, ITEM, Attempt(text="a"), ScoreContext(rollout, "eval", scoring=given))
    assert other != first and env.calls == 3, "another draw is another measurement"
    await journal.aclose()
    replay = Journal.open(path, replay=True)
    assert await ask(env, Attempt(text="a"), Scoring(journal=replay)) == first and env.calls == 3
    await replay.aclose()


async def test_a_scoring_function_of_ones_own_is_asked_once_for_an_answer(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(
        "import random\nasked = []\n\ndef score(answer, item):\n    asked.append(answer)\n    return random.random()\n"
    )
    write(tmp_path / "tasks.jsonl", "\n".join(f'{{"q": "{n}", "answer": "{n}"}}' for n in range(12)))
    settings = {"prompt_template": "{{ q }}", "scorer": "dice:score"}
    env = create_env("jsonl", Config(name="jsonl", data_path=str(tmp_path / "tasks.jsonl")), settings)
    item = env.load().train[0]
    journal = Journal.open(tmp_path / "journal.sqlite3")
    given = Scoring(journal=journal)
    scores = {(await scored(env, item, "<answer>3</answer>", given)).hard for _ in range(3)}
    assert len(scores) == 1 and sys.modules["dice"].asked == ["3"]
    await journal.aclose()
