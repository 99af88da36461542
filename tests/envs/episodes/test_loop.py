"""The loop of an episode: how it is played, and which of the three states each end is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import (
    BudgetExceeded,
    ConfigError,
    ContextOverflow,
    DataError,
    TransientModelError,
)
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Attempt, Env, takes_readout
from skillopt.envs.episodes import conversation, parse_tag, reached
from skillopt.envs.episodes.protocol import without_tag
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.model.types import ChatReply, ChatRequest
from skillopt.optimizer.trajectory import conversation as shown
from tests.envs.conftest import Config, Model

from . import games


def counting(request: ChatRequest) -> str:
    """Counts its own turns."""
    return f"I count.\n<action>{sum(m.role == 'assistant' for m in request.messages) + 1}</action>"


def env_of(cls: type[games.Counting] = games.Counting, *, turns: int = 5, log: str = "") -> Env:
    return cls(Config(max_turns=turns), games.Settings(log=log))


async def played(
    data: dict[str, Any] | None = None,
    *,
    env: Env | None = None,
    answer: Callable[[ChatRequest], Any] = counting,
    scoring: Scoring | None = None,
    repeat: int = 0,
) -> Rollout:
    call = Call("rollout", repeat=repeat, scoring=scoring or Scoring(seed=7))
    return await run_one(env or env_of(), Item("x", data or {}), Skill("Be exact."), Model(answer), call)


async def test_an_episode_is_played_to_its_end_and_each_turn_is_a_row() -> None:
    model = Model(counting)
    rollout = await run_one(env_of(), Item("x"), Skill("Be exact."), model, Call("rollout"))
    start, *turns, end = rollout.trajectory
    assert rollout.outcome == Scored(
        1.0, 1.0, predicted="3", detail={"turns": 3, "ended": "done", "feedback": "hint 3"}
    )
    assert str(start["content"]).startswith("seed ")
    assert turns[1] == {
        "type": "message", "turn": 2, "content": "I count.\n<action>2</action>", "action": "2", "reasoning": "I count.",
        "env_feedback": "2: 2", "reward": 2 / 3, "done": False, "hint": "hint 2",
    }  # fmt: skip
    assert [row["done"] for row in turns] == [False, False, True]
    assert end["role"] == "system"
    assert rollout.agent == {"harness": "episode", "exit_reason": "completed", "turns": 3}
    assert rollout.tokens == {"calls": 3, "prompt_tokens": 30, "completion_tokens": 6, "cached_tokens": None}
    assert rollout.system_prompt == "Count.\n\nBe exact.\n"
    assert rollout.user_prompt == f"Count to three in x.\n\n{start['content']}"
    sent = [m.content for m in model.requests[-1].messages]
    assert sent[2:] == ["I count.\n<action>1</action>", "1: 1", "I count.\n<action>2</action>", "2: 2"]


async def test_hints_reach_analysts_and_never_the_target() -> None:
    model = Model(counting)
    rollout = await run_one(env_of(), Item("x"), Skill(""), model, Call("rollout"))
    assert "HINT (the target does not see it): hint 2" in shown(rollout)
    assert "ACTION: 2\nOBSERVATION: 2: 2" in shown(rollout)
    assert not any("hint" in str(m.content) for request in model.requests for m in request.messages)


async def test_the_seed_is_of_run_item_and_repeat() -> None:
    starts = [
        (await played(repeat=repeat, scoring=Scoring(seed=seed))).trajectory[0]["content"]
        for seed, repeat in ((7, 0), (7, 0), (8, 0), (7, 1))
    ]
    assert starts[0] == starts[1]
    assert len(set(starts)) == 3


async def test_out_of_turns_is_scored_where_it_stands() -> None:
    rollout = await played(env=env_of(turns=2))
    scored = rollout.scored
    assert scored is not None and scored.hard == 2 / 3
    assert scored.fail_reason == "out of turns: 2 turns and the task is not done"
    assert rollout.agent["exit_reason"] == "turns"


def overflows(request: ChatRequest) -> Any:
    turn = sum(m.role == "assistant" for m in request.messages)
    return ContextOverflow("prompt is too long") if turn else counting(request)


async def test_a_conversation_that_outgrows_the_context_is_scored_but_a_first_request_is_missing() -> None:
    rollout = await played(answer=overflows)
    assert rollout.scored is not None and rollout.scored.hard == 1 / 3
    assert rollout.scored.fail_reason == "the conversation outgrew the model's context after 1 turns"
    rollout = await played(answer=lambda request: ContextOverflow("prompt is too long"))
    assert rollout.outcome == Missing("prompt is too long", too_long=True)


async def test_a_lost_call_is_missing_whatever_was_reached() -> None:
    def breaks(request: ChatRequest) -> Any:
        done = sum(m.role == "assistant" for m in request.messages)
        return TransientModelError("connection reset") if done == 2 else counting(request)

    rollout = await played(answer=breaks)
    assert rollout.outcome == Missing("connection reset")
    assert len(rollout.trajectory) == 3, "what was played stays visible"


async def test_what_must_end_the_run_does() -> None:
    with pytest.raises(BudgetExceeded):
        await played(answer=lambda request: BudgetExceeded("usd", 2.0, 1.0, "budget.max_usd"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"fails": 2}, "the simulator of 'counting' raised KeyError: 'door'"),
        ({"no_reset": 1}, "the simulator of 'counting' raised RuntimeError: no such level"),
        ({"odd": 1}, "the simulator of 'counting' raised TypeError: step returned str, not Step"),
        ({"leaves": 2}, "the simulator of 'counting' raised SystemExit: 3"),
        ({"leaves": 2, "plain": True}, "the simulator of 'counting' raised SystemExit: 3"),
        ({"fails": 2, "plain": True}, "the simulator of 'counting' raised KeyError: 'door'"),
    ],
)
async def test_a_fault_of_the_simulator_is_missing_never_zero(data: dict[str, Any], words: str) -> None:
    assert (await played(data)).outcome == Missing(words)


async def test_a_step_that_hangs_ends_at_its_deadline() -> None:
    rollout = await played({"hangs": 2}, env=env_of(games.Quick))
    assert rollout.outcome == Missing("the simulator of 'counting' took longer than 0.5 s")


async def test_a_deadline_over_the_whole_episode_is_missing() -> None:
    rollout = await played({"hangs": 2}, env=env_of(games.Hasty))
    assert rollout.outcome == Missing("the episode took longer than 0.3 s")


@pytest.mark.parametrize("score", ["nan", 1.5, -0.1, None, "much", True])
async def test_a_score_that_is_none_names_item_and_value(score: Any) -> None:
    with pytest.raises(DataError, match=r"item 'x': the simulator said score="):
        await played({"score": score})


async def test_a_close_that_fails_costs_nothing() -> None:
    assert (await played({"no_close": True})).scored is not None


async def test_a_reply_that_was_cut_off_is_not_adopted_and_uses_a_turn(tmp_path: Path) -> None:
    def cut(request: ChatRequest) -> Any:
        turn = sum(m.role == "assistant" for m in request.messages)
        return ChatReply("<action>2</action> and th", "length") if turn == 1 else counting(request)

    rollout = await played(answer=cut)
    row = rollout.trajectory[2]
    assert (row["action"], row["cut"], row["env_feedback"]) == ("", True, "2: ")
    assert rollout.scored is not None


async def test_an_environment_may_write_requests_and_read_actions_itself() -> None:
    model = Model(lambda request: str(len(str(request.messages[0].content))))
    rollout = await run_one(env_of(games.Windowed), Item("x"), Skill("S"), model, Call("rollout"))
    assert [r.messages[0].content for r in model.requests][1:] == [
        f"S\n|x|1|{rollout.trajectory[1]['action']} brought 1: {rollout.trajectory[1]['action']}",
        f"S\n|x|2|{rollout.trajectory[2]['action']} brought 2: {rollout.trajectory[2]['action']}",
    ]
    empty = await run_one(env_of(games.Windowed), Item("x"), Skill("S"), Model(lambda r: ""), Call("rollout"))
    assert empty.trajectory[1]["action"] == "LOOK"


async def test_the_deadline_of_an_agent_target_is_a_clear_refusal() -> None:
    class Program(Model):
        async def attempt(self, task: Any) -> Attempt:
            raise AssertionError("not asked")

    with pytest.raises(ConfigError, match="'counting' plays episodes: its target is a chat model"):
        await run_one(env_of(), Item("x"), Skill(""), Program(counting), Call("rollout"))


async def test_an_environment_that_does_not_say_how_many_turns_is_told_so() -> None:
    class Endless(games.Counting):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            del self.max_turns

    with pytest.raises(ConfigError, match="'counting' has open_episode and max_turns=None"):
        await played(env=env_of(Endless))


def test_no_readout_fits_beside_an_action() -> None:
    assert not takes_readout(env_of())


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<action>a</action> no, <ACTION> b\n</ACTION>", "b"),
        ("go east", "go east"),
        ("", ""),
        ("<action></action>", ""),
        ("<action>open", "<action>open"),
        ("</action> <action>a <action>b</action> c</action>", "b"),
        ("\u0130<action>\u0130</action>", "\u0130"),
    ],
)
def test_parse_tag(reply: str, action: str) -> None:
    assert parse_tag(reply) == action


@given(st.lists(st.sampled_from(["<action>", "</ACTION>", "go east", " ", "\u0130"]), max_size=30))
def test_any_reply_has_an_action_that_is_part_of_it(parts: list[str]) -> None:
    reply = "".join(parts)
    assert parse_tag(reply) in reply
    assert "action>" not in without_tag(f"<action>{reply.replace('>', '')}</action>")
    assert parse_tag(f"{reply}<action> done </action>") == "done"


def test_tags_without_end_take_no_time() -> None:
    began = time.perf_counter()
    for reply in ("<action>" * 200_000, "</action>" * 200_000, "<action" * 200_000):
        assert parse_tag(reply) == reply
        assert without_tag(reply) == ""
    assert time.perf_counter() - began < 5


def test_a_conversation_without_a_user_message_begins_with_the_observation() -> None:
    from skillopt.envs.episodes import Reset
    from skillopt.model.types import Message

    assert conversation([Message("system", "S")], Reset("O"), [])[1] == Message("user", "O")


def test_reached_wants_an_episode() -> None:
    with pytest.raises(DataError, match="no episode"):
        reached(replace(Attempt(), text="x"))


async def test_each_call_of_an_episode_runs_on_the_time_of_the_episode() -> None:
    model = Model(counting)
    await run_one(env_of(games.Hasty), Item("x"), Skill("Be exact."), model, Call("rollout"))
    clocks = {id(request.within) for request in model.requests}
    within = model.requests[0].within
    assert len(clocks) == 1 and within is not None and within.seconds == 0.3
