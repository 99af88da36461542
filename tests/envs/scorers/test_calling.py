"""Scoring functions: how they are called, what they may return, and what a crash of one is."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy
import pytest

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.score_work import arguments, called, packed, unpacked
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scorers.calling import Calling
from skillopt.envs.scorers.choose import build_scorer
from skillopt.envs.scoring import ScoreContext

TRAJECTORY = ({"type": "message", "turn": 1, "content": "it is 4"},)
ROLLOUT = Rollout(Item("q1", {"answer": "4"}), "h", Pending(), trajectory=TRAJECTORY)


async def call(function: Callable[..., object], answer: str = "4") -> Scored:
    outcome = await Calling.of(function, "mine")(answer, ROLLOUT)
    assert isinstance(outcome, Scored)
    return outcome


async def test_it_is_called_by_the_names_of_its_parameters() -> None:
    seen: list[Any] = []

    def two(answer: str, item: dict[str, Any]) -> bool:
        seen.append((answer, item))
        return True

    def swapped(item: dict[str, Any], answer: str) -> bool:
        return answer == item["answer"]

    def other_names(text: str, row: dict[str, Any], strict: bool = True) -> bool:
        return text == row["answer"] and strict

    def three(answer: str, item: dict[str, Any], trajectory: list[dict[str, Any]]) -> bool:
        return [entry["content"] for entry in trajectory] == ["it is 4"]

    def whole(rollout: Rollout) -> bool:
        return rollout.item.id == "q1" and rollout.skill_hash == "h"

    async def on_the_loop(answer: str, item: dict[str, Any]) -> bool:
        return threading.current_thread() is threading.main_thread()

    def in_a_worker(answer: str, item: dict[str, Any]) -> bool:
        return threading.current_thread() is not threading.main_thread()

    class Counting:
        async def __call__(self, answer: str, item: dict[str, Any]) -> float:
            return 0.5

    for function in (two, swapped, other_names, three, whole, on_the_loop, in_a_worker):
        assert (await call(function)).hard == 1.0, function.__name__
    assert (await call(Counting())).hard == 0.5
    assert seen == [("4", {"answer": "4"})]
    for wrong in (lambda text: True, lambda: True, lambda a, b, c: True, lambda answer, item, *, mode: True):
        with pytest.raises(ConfigError, match=r"\(answer, item\), \(answer, item, trajectory\) or \(rollout\)"):
            Calling.of(wrong, "mine")


@pytest.mark.parametrize(
    ("returned", "hard", "soft", "reason", "feedback"),
    [
        (True, 1.0, 1.0, "", None),
        (0.25, 0.25, 0.25, "", None),
        ((0.5, "say the unit"), 0.5, 0.5, "", "say the unit"),
        ((True, None), 1.0, 1.0, "", None),
        ({"hard": 0, "soft": 0.5, "fail_reason": "unit", "feedback": "say it"}, 0, 0.5, "unit", "say it"),
        (Scored(1.0, 0.5), 1.0, 0.5, "", None),
        ((Scored(0.0, 0.5, fail_reason="x"), "why"), 0.0, 0.5, "x", "why"),
        ({"score": 0.5, "feedback": "say it"}, 0.5, 0.5, "", "say it"),
        (numpy.float32(0.5), 0.5, 0.5, "", None),
        (numpy.bool_(True), 1.0, 1.0, "", None),
        (Scored(numpy.float64(1), numpy.float32(0.25)), 1.0, 0.25, "", None),  # type: ignore[arg-type]
        ((Decimal("0.5"), "why"), 0.5, 0.5, "", "why"),
        (Fraction(1, 4), 0.25, 0.25, "", None),
    ],
)
async def test_what_it_may_return(
    returned: object, hard: float, soft: float, reason: str, feedback: str | None
) -> None:
    got = await call(lambda answer, item: returned)
    assert (got.hard, got.soft, got.fail_reason, got.detail.get("feedback")) == (hard, soft, reason, feedback)
    assert type(got.soft) in (int, float)
    sent = json.loads(json.dumps(packed(returned)))
    assert Calling.of(print, "mine").outcome(unpacked(sent), "4", "q1") == got, "from a worker it is the same"


async def test_what_could_not_be_scored_is_missing_wherever_the_function_runs() -> None:
    missing = Missing("the other service is down")
    assert await Calling.of(lambda answer, item: missing, "mine")("4", ROLLOUT) == missing
    assert unpacked(json.loads(json.dumps(packed(missing)))) == missing


async def test_what_a_function_takes_by_name_only_is_given_by_name() -> None:
    def graded(weight: float, answer: str, item: dict[str, Any]) -> float:
        return weight * (answer == item["answer"])

    for function in (partial(graded, weight=0.5), lambda *, item, answer: 0.5 * (answer == item["answer"])):
        assert (await call(function)).hard == 0.5
        calling = Calling.of(function, "mine")
        assert called(function, calling.names, arguments("4", ROLLOUT)) == 0.5


@pytest.mark.parametrize(
    "returned", [None, "yes", 1.5, -1, float("nan"), {"mark": 1}, (1, 2, 3), [1], numpy.float32(2)]
)
async def test_what_is_no_score_is_an_error_with_the_item(returned: object) -> None:
    with pytest.raises(DataError, match="'q1'"):
        await call(lambda answer, item: returned)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("error", [KeyError("boom"), SystemExit(3)])
async def test_a_crash_names_the_item_and_keeps_its_cause(error: BaseException, is_async: bool) -> None:
    def crash(answer: str, item: dict[str, Any]) -> float:
        if isinstance(error, SystemExit):
            sys.exit(3)
        raise error

    async def crash_on_the_loop(answer: str, item: dict[str, Any]) -> float:
        return crash(answer, item)

    with pytest.raises(DataError, match=f"item 'q1': the scorer mine raised {type(error).__name__}") as caught:
        await call(crash_on_the_loop if is_async else crash)
    cause = caught.value.__cause__
    assert type(cause) is type(error)
    names = []
    trace = cause.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "crash" in names


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError("mine")])
async def test_what_looks_like_an_order_to_stop_is_a_crash_too(error: BaseException) -> None:
    def crash(answer: str, item: dict[str, Any]) -> float:
        raise error

    with pytest.raises(DataError, match=f"item 'q1': the scorer mine raised {type(error).__name__}"):
        await call(crash)


async def test_a_function_of_a_program_is_named_where_it_is_missing() -> None:
    held = build_scorer({"name": "python", "function": "mine", "digest": "abc"})
    with pytest.raises(ConfigError, match="a function of a Python program"):
        await held.score_attempt("4", Gold.of(None), Attempt(text="4"), ScoreContext(ROLLOUT, "eval"))  # type: ignore[attr-defined]
