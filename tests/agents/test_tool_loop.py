"""The generic tool loop: what it sends, what it runs, that a resumed run repeats nothing, and that nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.agents.base import Agent
from skillopt.agents.shell import ToolLoopSettings
from skillopt.agents.tool_loop import ToolLoopAgent
from skillopt.core.errors import BudgetExceeded, ReplayMiss, TransientModelError
from skillopt.harnesses import processes
from skillopt.model.types import ChatReply, ChatRequest, Message, ToolCall, Usage
from skillopt.store.journal import Journal
from tests.agents.stand_in import task

Answer = Callable[[int, ChatRequest], "ChatReply | Exception"]


def bash(command: Any, number: int = 1, name: str = "bash") -> ChatReply:
    """A reply that calls the tool."""
    arguments = command if isinstance(command, bytes) else json.dumps({"command": command})
    text = arguments.decode() if isinstance(arguments, bytes) else arguments
    return ChatReply("", "tool_calls", Usage(10, 2), tool_calls=(ToolCall(f"c{number}", name, text),))


class Chat:
    """A scripted chat model: the n-th answer is for a request with n turns of its own behind it."""

    model = "scripted"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        answer = self._answer(sum(m.role == "assistant" for m in request.messages), request)
        if isinstance(answer, Exception):
            raise answer
        return answer


def script(*replies: ChatReply | Exception) -> Chat:
    """These replies in order."""
    return Chat(lambda turn, request: replies[min(turn, len(replies) - 1)])


DONE = ChatReply("<answer>12</answer>", "stop", Usage(20, 3))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(tmp_path / "journal.sqlite3")
    yield opened
    opened.close()


def agent(chat: Chat, journal: Journal, **changes: Any) -> ToolLoopAgent:
    environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "sk-user-12345678", "HOME": "/home/user"}
    return ToolLoopAgent(chat, ToolLoopSettings(environ, **changes), journal=journal)


async def test_commands_run_in_the_workspace_and_their_output_goes_back(journal: Journal) -> None:
    chat = script(bash("cat task.md; pwd; echo kept > note"), bash("cat note; exit 3"), DONE)
    loop = agent(chat, journal)
    assert isinstance(loop, Agent)
    attempt = await loop.attempt(task())
    await loop.aclose()
    assert attempt.text == "<answer>12</answer>"
    results = [str(m.content) for m in chat.requests[-1].messages if m.role == "tool"]
    assert results == ["How many lines are in file 1?\n/workspace\n", "kept\n\n(exit code 3)"]
    assert [t["function"]["name"] for t in chat.requests[0].tools] == ["bash"]
    assert attempt.tokens == {"calls": 3, "prompt_tokens": 40, "completion_tokens": 7, "cached_tokens": None}
    assert attempt.notes == {
        "harness": "tool_loop", "exit_reason": "completed", "skill_read": True, "commands": 2, "turns": 3,
    }  # fmt: skip


async def test_the_skill_is_in_the_prompt_or_in_the_workspace(journal: Journal) -> None:
    read = "cat .agents/skills/skillopt-target/SKILL.md"
    native = await agent(script(bash(read), DONE), journal, delivery="native").attempt(task())
    assert native.notes["skill_read"] is True
    assert "Use wc -l." not in native.system_prompt
    assert native.trajectory[0]["obs"] == "(the text of the skill)"
    unread = await agent(script(DONE), journal, delivery="native").attempt(task(2))
    assert unread.notes["skill_read"] is False
    prompt = await agent(script(DONE), journal, delivery="prompt").attempt(task(3))
    assert "Use wc -l." in prompt.system_prompt


async def test_a_command_sees_nothing_of_the_caller(journal: Journal) -> None:
    chat = script(bash("env; echo ~"), DONE)
    await agent(chat, journal).attempt(task())
    output = str(chat.requests[-1].messages[-1].content)
    assert "sk-user" not in output
    assert "/home/user" not in output


async def test_a_resumed_attempt_runs_no_command_again_and_asks_the_same(journal: Journal, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    replies = (bash(f"echo x >> {ran}; date +%N", 1), bash(f"echo x >> {ran}; cat missing", 2), DONE)
    first, second = script(*replies), script(*replies)
    one = await agent(first, journal).attempt(task())
    two = await agent(second, journal).attempt(task())
    assert one == two
    assert [r.key_fields() for r in first.requests] == [r.key_fields() for r in second.requests]
    assert ran.read_text() == "x\nx\n"


async def test_a_broken_off_attempt_rebuilds_its_workspace(journal: Journal) -> None:
    lost = script(bash("echo one > a", 1), bash("echo two > b", 2), TransientModelError("gone"))
    attempt = await agent(lost, journal).attempt(task())
    assert attempt.lost == "gone"
    whole = script(bash("echo one > a", 1), bash("echo two > b", 2), bash("cat a b", 3), DONE)
    await agent(whole, journal).attempt(task())
    assert whole.requests[-1].messages[-1].content == "one\ntwo\n"


async def test_a_replay_runs_nothing(journal: Journal, tmp_path: Path) -> None:
    chat = script(bash("echo one"), DONE)
    first = await agent(chat, journal).attempt(task())
    journal.close()
    replayed = Journal.open(tmp_path / "journal.sqlite3", replay=True)
    assert await agent(script(bash("echo one"), DONE), replayed).attempt(task()) == first
    with pytest.raises(ReplayMiss):
        await agent(script(bash("echo two"), DONE), replayed).attempt(task())
    replayed.close()


@pytest.mark.parametrize("bad", [b"not json", b"[1]", b'{"cmd": "ls"}', b'{"command": 5}', b""])
async def test_a_malformed_call_is_told_to_the_model(journal: Journal, bad: bytes) -> None:
    chat = script(bash(bad), DONE)
    attempt = await agent(chat, journal).attempt(task())
    assert attempt.text == "<answer>12</answer>"
    assert "not run" in str(chat.requests[-1].messages[-1].content)


async def test_an_unknown_tool_is_told_to_the_model(journal: Journal) -> None:
    chat = script(bash("ls", name="python"), DONE)
    await agent(chat, journal).attempt(task())
    assert "not run" in str(chat.requests[-1].messages[-1].content)


async def test_every_call_of_a_turn_is_answered(journal: Journal) -> None:
    both = ChatReply("", "tool_calls", Usage(1, 1), tool_calls=(
        ToolCall("a", "bash", '{"command": "echo 1"}'), ToolCall("b", "bash", '{"command": "echo 2"}')))  # fmt: skip
    chat = script(both, DONE)
    await agent(chat, journal).attempt(task())
    assert [(m.tool_call_id, m.content) for m in chat.requests[-1].messages if m.role == "tool"] == [
        ("a", "1\n"),
        ("b", "2\n"),
    ]


async def test_limits_and_losses(journal: Journal) -> None:
    turns = await agent(script(bash("true")), journal, max_turns=3).attempt(task())
    assert turns.cut.startswith("out-of-turns: 3")
    cut = await agent(script(ChatReply("half", "length", Usage(1, 1))), journal).attempt(task(2))
    assert cut.cut.startswith("truncated-output")
    slow = script(bash("sleep 60; echo no"), DONE)
    await agent(slow, journal, command_seconds=0.3).attempt(task(3))
    assert "stopped after 0.3 s" in str(slow.requests[-1].messages[-1].content)
    with pytest.raises(BudgetExceeded):
        await agent(script(BudgetExceeded("calls", 2, 1, "budget")), journal).attempt(task(4))


async def test_a_flood_of_output_is_shortened(journal: Journal) -> None:
    chat = script(bash("yes line | head -c 3000000"), DONE)
    await agent(chat, journal).attempt(task())
    shown = str(chat.requests[-1].messages[-1].content)
    assert len(shown) < 7000
    assert "left out" in shown


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow_campaign)])
async def test_many_at_once_lose_nothing_and_leave_nothing(journal: Journal, count: int) -> None:
    before = {p.pid for p in processes.alive()}

    def answer(turn: int, request: ChatRequest) -> ChatReply:
        if turn == 0:
            return bash("cat task.md; sleep 30 & echo started")
        return ChatReply(str(request.messages[-1].content).split("\n")[0], "stop", Usage(1, 1))

    loop = agent(Chat(answer), journal)
    attempts = await asyncio.gather(*(loop.attempt(task(n)) for n in range(count)))
    await loop.aclose()
    assert [a.text for a in attempts] == [f"How many lines are in file {n}?" for n in range(count)]
    assert journal.count("tool") == count
    sleepers = [p.pid for p in processes.alive() if p.pid not in before and _is(p.pid, b"sleep\x0030")]
    assert sleepers == []


def _is(pid: int, command: bytes) -> bool:
    try:
        return command in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


async def test_asked_as_a_chat_it_is_the_model(journal: Journal) -> None:
    chat = script(DONE)
    reply = await agent(chat, journal).chat(ChatRequest((Message("user", "hi"),), stage="x"))
    assert reply is DONE
    assert chat.requests[0].tools == ()
