"""The batch runner: order, width, missing outcomes, stops, cancellation, cost."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.errors import (
    BudgetExceeded,
    ConfigError,
    ContextOverflow,
    DataError,
    FatalModelError,
    ReplayMiss,
    TransientModelError,
)  # fmt: skip
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Scored
from skillopt.core.skill import Skill
from skillopt.envs.base import Env
from skillopt.envs.registry import create_env
from skillopt.envs.runner import run_batch, start_batch
from skillopt.model.types import ChatReply, ChatRequest, Usage
from skillopt.records.events import StageProgress, silent
from skillopt.records.vocabulary import Stage
from tests.examples import many
from tests.timing import TRIES

from .conftest import Config, Model

SKILL = Skill("# Skill\n\nA rule.\n")


def items(n: int) -> list[Item]:
    return [Item(f"q{k}", {"question": f"item {k} ?", "context": "[DOC] c", "answers": [f"a{k}"]}) for k in range(n)]


def env(**keys: Any) -> Env:
    return create_env("searchqa", Config(**keys), {})


def number(request: ChatRequest) -> int:
    return int(str(request.messages[1].content).rsplit("item ", 1)[1].split()[0])


def right(request: ChatRequest) -> str:
    return f"<answer>a{number(request)}</answer>"


async def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[operator]


async def test_rollouts_hold_what_the_stages_read() -> None:
    model = Model(lambda r: ChatReply(right(r) if number(r) else "<answer>no</answer>", usage=Usage(7, 3, None, None)))
    events: list[StageProgress] = []
    one = env(max_completion_tokens=99, temperature=0.4, exec_timeout=30)
    got = await run_batch(
        one, items(3), SKILL, model, stage=Stage.ROLLOUT, progress=events.append, width=2, repeat=4, priority=10
    )
    assert [r.item.id for r in got] == ["q0", "q1", "q2"]
    assert [r.scored and r.scored.hard for r in got] == [0.0, 1.0, 1.0]
    request = model.requests[0]
    assert (request.stage, request.repeat, request.priority, request.max_completion_tokens) == ("rollout", 4, 10, 99)
    assert (request.temperature, request.deadline_s) == (0.4, 90)
    first = got[0]
    assert (first.skill_hash, first.repeat) == (SKILL.hash, 4)
    assert first.tokens == {"calls": 1, "prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": None}
    assert "A rule." in first.system_prompt and "item 0 ?" in first.user_prompt
    assert first.trajectory[0] == {"type": "message", "turn": 1, "content": "<answer>no</answer>"}
    assert first.trajectory[-1]["role"] == "system" and "Gold: a0" in first.trajectory[-1]["content"]
    assert [e.done for e in events] == [1, 2, 3]
    assert events[-1] == StageProgress(stage=Stage.ROLLOUT, done=3, total=3, hard=pytest.approx(2 / 3))


@settings(max_examples=many(30))
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([None, 3, 8]))
def test_width_and_speed_never_change_the_result(n: int, width: int, seed: int, lookahead: int | None) -> None:
    rng = random.Random(seed)
    delays = [rng.choice([0, 0, 0.001, 0.002]) for _ in range(n)]
    failures = Counter(k for k in range(n) if rng.random() < 0.2)

    def answer(request: ChatRequest) -> str | BaseException:
        k = number(request)
        if failures[k]:
            failures[k] -= 1
            return TransientModelError("busy")
        return right(request)

    async def run() -> tuple[list[str], Model]:
        model = Model(answer, delay=lambda r: delays[number(r)])
        async with start_batch(
            env(), items(n), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=width, lookahead=lookahead
        ) as batch:
            got = [r async for r in batch]
        assert all(isinstance(r.outcome, Scored) and r.outcome.hard == 1 for r in got)
        assert not await others()
        return [r.item.id for r in got], model

    ids, model = asyncio.run(run())
    assert ids == [f"q{k}" for k in range(n)]
    assert model.peak <= width


async def test_missing_is_tried_once_more_at_the_end_and_never_scored() -> None:
    seen: list[int] = []

    def answer(request: ChatRequest) -> str | BaseException:
        k = number(request)
        seen.append(k)
        if k == 1:
            return TransientModelError("503 from the provider")
        if k == 2:
            return ContextOverflow("prompt too long")
        return TransientModelError("late") if k == 0 and seen.count(0) == 1 else right(request)

    got = await run_batch(env(), items(6), SKILL, Model(answer), stage=Stage.ROLLOUT, progress=silent, width=2)
    assert seen[:6] == [0, 1, 2, 3, 4, 5] and sorted(seen[6:]) == [0, 1, 2]
    assert isinstance(got[1].outcome, Missing) and "503" in got[1].outcome.error
    assert isinstance(got[2].outcome, Missing)
    assert got[0].scored is not None and got[0].scored.hard == 1
    assert got[1].tokens["calls"] == 0 and "item 1 ?" in got[1].user_prompt


@pytest.mark.parametrize(
    "fault",
    [FatalModelError("401 token expired"), ReplayMiss("not in the journal"), BudgetExceeded("usd", 2, 1, "flag")],
)
async def test_what_must_stop_the_run_cancels_the_rest(fault: BaseException) -> None:
    model = Model(lambda r: fault if number(r) == 3 else right(r), delay=lambda r: 0.001 if number(r) == 3 else 30.0)
    started = time.monotonic()
    with pytest.raises(type(fault)) as caught:
        await run_batch(env(), items(50), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=8)
    assert caught.value is fault
    assert time.monotonic() - started < 25
    assert model.running == 0 and len(model.requests) <= 8
    assert not await others()


async def test_a_cancelled_parent_leaves_nothing_running() -> None:
    model = Model(right, delay=lambda r: 30.0)
    task = asyncio.create_task(run_batch(env(), items(9), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=4))
    await asyncio.sleep(0.01)
    assert model.running == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.running == 0 and not await others()


async def test_an_early_stop_starts_nothing_more() -> None:
    model = Model(right, delay=lambda r: 0.001)
    async with start_batch(
        env(), items(100), SKILL, model, stage=Stage.GATE, progress=silent, width=4, lookahead=8
    ) as batch:
        got = [(await batch.__anext__()).item.id for _ in range(3)]
    assert got == ["q0", "q1", "q2"]
    assert len(model.requests) <= 11 and model.running == 0 and not await others()
    with pytest.raises(StopAsyncIteration):
        await batch.__anext__()


async def test_a_slow_head_is_bounded_by_lookahead() -> None:
    model = Model(right, delay=lambda r: 0.05 if number(r) == 0 else 0)
    async with start_batch(
        env(), items(100), SKILL, model, stage=Stage.GATE, progress=silent, width=4, lookahead=10
    ) as batch:
        assert (await batch.__anext__()).item.id == "q0"
        assert len(model.requests) <= 11
        assert len([r async for r in batch]) == 99


async def test_a_fault_of_the_progress_display_ends_the_batch() -> None:
    def broken(event: StageProgress) -> None:
        raise ValueError(f"cannot show {event.done}")

    model = Model(right, delay=lambda r: 0.001)
    with pytest.raises(ValueError, match="cannot show 1"):
        await asyncio.wait_for(
            run_batch(env(), items(9), SKILL, model, stage=Stage.GATE, progress=broken, width=2), timeout=20
        )
    assert model.running == 0 and not await others()


async def test_a_reply_cut_by_the_limit_is_not_adopted() -> None:
    model = Model(lambda r: ChatReply("<answer>a0</answer> and then", finish="length"))
    (got,) = await run_batch(env(), items(1), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=1)
    assert got.outcome == Scored(0.0, 0.0, fail_reason="truncated-output: reached max_completion_tokens=512")


async def test_refusals_and_empty_answers_are_answers() -> None:
    model = Model(lambda r: ChatReply("I cannot help.", finish="refusal") if number(r) else "")
    got = await run_batch(env(), items(2), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=1)
    assert [r.scored and (r.scored.hard, r.scored.predicted) for r in got] == [(0.0, ""), (0.0, "I cannot help.")]


async def test_review_turn_continues_the_conversation() -> None:
    model = Model(lambda r: f"<answer>{len(r.messages)}</answer>")
    (got,) = await run_batch(env(max_turns=2), items(1), SKILL, model, stage=Stage.ROLLOUT, progress=silent, width=1)
    roles = [m.role for m in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert [e.get("turn", e.get("role")) for e in got.trajectory] == [1, "user", 2, "system"]
    assert got.scored is not None and got.scored.predicted == "4" and got.tokens["calls"] == 2


async def test_a_scorer_fault_names_the_item_and_stops() -> None:
    class Bad:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def score(self, item: Item, text: str) -> Scored:
            if item.id == "q2":
                raise KeyError("oops")
            return Scored(float("nan"), 0.0) if item.id == "q4" else Scored(1.0, 1.0)

    inner = env()
    bad: Any = Bad()
    for start, item_id in ((0, "q2"), (3, "q4")):
        with pytest.raises(DataError, match=f"'{item_id}'"):
            await run_batch(bad, items(6)[start:], SKILL, Model(right), stage=Stage.ROLLOUT, progress=silent, width=1)


async def test_empty_batches_and_bad_widths() -> None:
    assert await run_batch(env(), [], SKILL, Model(right), stage=Stage.ROLLOUT, progress=silent, width=3) == []
    with pytest.raises(ConfigError, match="at least 1"):
        await run_batch(env(), items(1), SKILL, Model(right), stage=Stage.ROLLOUT, progress=silent, width=0)


async def test_our_share_of_a_call_is_small() -> None:
    many = items(1000)
    per_call: list[float] = []
    while not per_call or (per_call[-1] >= 0.001 and len(per_call) < TRIES):
        before = time.process_time()
        await run_batch(env(), many, SKILL, Model(right), stage=Stage.ROLLOUT, progress=silent, width=24)
        per_call.append((time.process_time() - before) / len(many))
    assert per_call[-1] < 0.001, per_call
