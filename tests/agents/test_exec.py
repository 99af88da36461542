"""An agent CLI as a target: what it finds, what is journalled, and that no fault becomes an answer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skillopt.agents.base import Agent
from skillopt.core.errors import CircuitOpen, FatalModelError, ReplayMiss
from skillopt.harnesses import processes
from skillopt.model.types import ChatRequest, Message
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from tests.agents.stand_in import Meter, Stand, task

GOOD = {"answer": "It is <answer>12</answer>.", "read": True}


async def test_an_attempt_from_workspace_to_answer(stand: Stand) -> None:
    agent = stand.plan(GOOD).agent()
    assert isinstance(agent, Agent)
    attempt = await agent.attempt(task())
    assert attempt.text == "It is <answer>12</answer>."
    assert (attempt.lost, attempt.cut) == ("", "")
    assert attempt.tokens == {"calls": 1, "prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 40}
    assert attempt.notes["harness"] == "codex"
    assert attempt.notes["version"] == "9.9.9"
    assert attempt.notes["skill_read"] is True
    assert attempt.trajectory[-1] == {"type": "message", "turn": 1, "content": "It is <answer>12</answer>."}
    (call,) = stand.calls
    package = call["files"][".agents/skills/skillopt-target/SKILL.md"]
    assert package == call["files"][".claude/skills/skillopt-target/SKILL.md"]
    assert package.startswith("---\nname: skillopt-target\ndescription: ")
    assert "Answer in <answer> tags." in package
    assert package.rstrip().endswith("## Dynamic Guidance\n\nUse wc -l.")
    assert call["files"]["task.md"] == "How many lines are in file 1?\n"
    assert "Use wc -l." not in call["prompt"]
    assert set(call["files"]) == {
        "task.md",
        ".agents/skills/skillopt-target/SKILL.md",
        ".claude/skills/skillopt-target/SKILL.md",
    }
    await agent.aclose()
    assert not Path(call["cwd"]).exists()


async def test_nothing_of_the_caller_is_in_the_programs_environment(stand: Stand) -> None:
    agent = stand.plan(GOOD).agent()
    await agent.attempt(task())
    env = stand.calls[0]["env"]
    assert "OPENAI_API_KEY" not in env
    assert env["HOME"] != "/home/user"
    assert "/home/user" not in json.dumps(stand.calls[0])


async def test_the_same_question_is_asked_once_and_a_replay_needs_no_program(stand: Stand) -> None:
    agent = stand.plan(GOOD).agent()
    first = await agent.attempt(task())
    assert await agent.attempt(task()) == first
    assert len(stand.calls) == 1
    stand.close()
    again = stand.agent()
    assert await again.attempt(task()) == first
    assert len(stand.calls) == 1
    stand.close()
    (stand.place / "codex").unlink()
    replayed = stand.agent(replay=True)
    assert await replayed.attempt(task()) == first
    with pytest.raises(ReplayMiss):
        await replayed.attempt(task(2))


async def test_whatever_can_change_the_answer_is_in_the_key(stand: Stand) -> None:
    agent = stand.plan(GOOD).agent()
    for asked in (task(), task(2), task(skill="Other."), task(repeat=1)):
        await agent.attempt(asked)
    assert len(stand.calls) == 4
    stand.close()
    for changes in ({"model": "other"}, {"delivery": "prompt"}, {"empty_retries": 0}):
        other = stand.agent(**changes)
        await other.attempt(task())
        stand.close()
    assert len(stand.calls) == 7


async def test_what_cannot_change_the_answer_is_not_in_the_key(stand: Stand, tmp_path: Path) -> None:
    await stand.plan(GOOD).agent().attempt(task())
    stand.close()
    for changes in ({"attempts": 1}, {"trace": False}, {"keep": tmp_path / "keep"}):
        await stand.agent(**changes).attempt(task(deadline_s=5))
        stand.close()
    assert len(stand.calls) == 1


async def test_the_skill_can_be_put_into_the_prompt(stand: Stand) -> None:
    attempt = await stand.plan({"answer": "12"}).agent(delivery="prompt").attempt(task())
    assert "## Dynamic Guidance\n\nUse wc -l." in stand.calls[0]["prompt"]
    assert attempt.notes["skill_read"] is True


async def test_a_skill_that_was_not_read_is_told(stand: Stand) -> None:
    attempt = await stand.plan({"answer": "12"}).agent().attempt(task())
    assert attempt.notes["skill_read"] is False


async def test_an_older_copy_of_the_skill_does_not_count_as_read(stand: Stand) -> None:
    stand.plan({"answer": "12", "read": True})
    program = stand.place / "codex"
    program.write_text(
        program.read_text().replace(".read_text()\n    item", ".read_text().replace('evision', 'x')\n    item")
    )
    assert (await stand.agent().attempt(task())).notes["skill_read"] is False


async def test_the_trace_can_be_withheld_from_analysts(stand: Stand) -> None:
    shown = await stand.plan(GOOD).agent().attempt(task())
    stand.close()
    hidden = await stand.agent(trace=False).attempt(task())
    assert any(row.get("type") == "tool_call" for row in shown.trajectory)
    assert [row["type"] for row in hidden.trajectory] == ["message"]


async def test_an_empty_answer_is_repeated_with_a_reminder_and_then_stands(stand: Stand) -> None:
    agent = stand.plan({"answer": ""}, {"answer": "12"}).agent()
    attempt = await agent.attempt(task())
    assert attempt.text == "12"
    assert attempt.tokens["calls"] == 2
    assert attempt.tokens["prompt_tokens"] == 200
    assert "empty the time before" in stand.calls[1]["prompt"]
    assert "empty the time before" not in stand.calls[0]["prompt"]
    stand.plan({"answer": ""})
    attempt = await agent.attempt(task(2))
    assert (attempt.text, attempt.lost) == ("", "")


async def test_a_transient_fault_is_tried_again(stand: Stand) -> None:
    agent = stand.plan({"error": "stream disconnected before completion"}, GOOD).agent()
    assert (await agent.attempt(task())).text
    assert len(stand.calls) == 2


@pytest.mark.parametrize(
    "step",
    [
        {"error": "unexpected status 503 Service Unavailable"},
        {"exit": 1, "stderr": "panic: something"},
        {"exit": 0, "print": "half a line of"},
        {"error": "ran out of room in the model's context window"},
    ],
)
async def test_a_lost_run_is_missing_with_the_programs_words(stand: Stand, step: dict[str, object]) -> None:
    agent = stand.plan(step).agent(attempts=2)
    attempt = await agent.attempt(task())
    assert attempt.lost
    assert attempt.text == ""
    assert "codex 9.9.9" in attempt.lost
    meter = agent.meter
    assert isinstance(meter, Meter)
    assert meter.open == 0


@pytest.mark.parametrize(
    "step",
    [
        {"error": "unexpected status 401 Unauthorized: Incorrect API key provided"},
        {"exit": 1, "print": "error 401 token expired"},
        {"exit": 0, "print": "Not logged in"},
        {"error": "model: nope"},
        {"exit": 2, "stderr": "error: unexpected argument '--color' found"},
    ],
)
async def test_a_fatal_fault_stops_the_run_at_once(stand: Stand, step: dict[str, object]) -> None:
    agent = stand.plan(step).agent(advise=lambda cause: f"about {cause}")
    with pytest.raises(FatalModelError) as caught:
        await agent.attempt(task())
    assert "codex 9.9.9" in caught.value.message
    assert caught.value.cause and caught.value.hint == f"about {caught.value.cause}"
    assert len(stand.calls) == 1


async def test_a_program_that_is_not_there_is_told_before_anything_else(stand: Stand) -> None:
    agent = stand.agent(environ={"PATH": "/nowhere"})
    with pytest.raises(FatalModelError, match="cannot start codex: file not found") as caught:
        await agent.probe()
    assert "@openai/codex" in caught.value.hint


async def test_many_identical_faults_open_the_circuit(stand: Stand) -> None:
    agent = stand.plan({"error": "unexpected status 500 Internal Server Error"}).agent(attempts=1)
    with pytest.raises(CircuitOpen):
        for number in range(12):
            await agent.attempt(task(number))
    assert len(stand.calls) == 10


async def test_a_deadline_ends_the_program_and_is_missing(stand: Stand) -> None:
    agent = stand.plan({"sleep": 60, "answer": "late"}).agent()
    attempt = await agent.attempt(task(deadline_s=0.7))
    assert "no answer within 0.7 s" in attempt.lost
    assert _running(stand) == []


async def test_a_cancelled_attempt_leaves_nothing(stand: Stand) -> None:
    agent = stand.plan({"sleep": 60, "answer": "late"}).agent()
    running = asyncio.ensure_future(agent.attempt(task()))
    while not stand.calls:
        await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert _running(stand) == []
    await agent.aclose()
    assert not Path(stand.calls[0]["cwd"]).exists()
    assert stand.opened[0].count("agent") == 0


@pytest.fixture(params=["a child", "inline", "local"])
async def executor(request: pytest.FixtureRequest) -> AsyncIterator[Executor | None]:
    """Where the program runs: none, or an executor."""
    chosen = {"a child": None, "inline": InlineExecutor(), "local": LocalExecutor(slots=2)}[request.param]
    yield chosen
    if chosen is not None:
        await chosen.aclose()


async def test_an_answer_is_the_same_wherever_the_program_runs(stand: Stand, executor: Executor | None) -> None:
    agent = stand.plan({"answer": "<answer>12</answer>"}).agent(executor=executor)
    attempt = await agent.attempt(task())
    assert (attempt.text, attempt.lost) == ("<answer>12</answer>", "")
    assert attempt.tokens["prompt_tokens"] == 100
    assert not Path(stand.calls[0]["cwd"]).exists()


@pytest.mark.cases(2)
@pytest.mark.parametrize("how", ["deadline", "cancelled"])
async def test_a_run_that_was_ended_is_settled_at_what_was_reserved(
    stand: Stand, executor: Executor | None, how: str
) -> None:
    agent = stand.plan({"sleep": 60, "answer": "late"}).agent(executor=executor)
    running = asyncio.ensure_future(agent.attempt(task(deadline_s=1.5 if how == "deadline" else 60.0)))
    while not stand.calls:
        await asyncio.sleep(0.02)
    if how == "cancelled":
        running.cancel()
        await asyncio.wait([running])
    else:
        assert "no answer within 1.5 s" in (await running).lost
    assert _running(stand) == []
    meter = agent.meter
    assert isinstance(meter, Meter)
    assert [(u.prompt_tokens, u.completion_tokens) for u in meter.settled] == meter.reserved
    assert meter.open == 0


async def test_a_program_that_cannot_be_started_costs_nothing(stand: Stand, executor: Executor | None) -> None:
    agent = stand.plan({"answer": "12"}).agent(executor=executor)
    await agent.find()
    (stand.place / "codex").unlink()
    with pytest.raises(FatalModelError, match="cannot start"):
        await agent.attempt(task())
    meter = agent.meter
    assert isinstance(meter, Meter)
    assert (meter.settled, meter.open) == ([], 0)


async def test_a_lost_worker_is_paid_and_the_run_repeated(stand: Stand) -> None:
    pool = LocalExecutor(slots=2)
    agent = stand.plan({"sleep": 60, "answer": "late"}, {"answer": "12"}).agent(executor=pool)
    running = asyncio.ensure_future(agent.attempt(task()))
    while not stand.calls:
        await asyncio.sleep(0.02)
    (member,) = pool._members
    os.kill(member.pid, signal.SIGKILL)
    assert (await running).text == "12"
    assert _running(stand) == []
    meter = agent.meter
    assert isinstance(meter, Meter)
    assert len(meter.settled) == len(meter.reserved) == 2
    assert (meter.settled[0].prompt_tokens, meter.settled[0].completion_tokens) == meter.reserved[0]
    assert meter.settled[1].prompt_tokens == 100
    await pool.aclose()


async def test_places_bound_how_many_run_at_once(stand: Stand) -> None:
    agent = stand.plan({"sleep": 0.3, "answer": "12"}).agent(width=2)
    running = asyncio.ensure_future(asyncio.gather(*(agent.attempt(task(n)) for n in range(6))))
    most = 0
    while not running.done():
        most = max(most, len(_running(stand)))
        await asyncio.sleep(0.02)
    assert len(await running) == 6
    assert most == 2


async def test_secrets_reach_no_record(stand: Stand, tmp_path: Path) -> None:
    planted = "ghp_" + "a1" * 18
    answer = f"the key is {stand.secret} and {planted}"
    keep = tmp_path / "keep"
    agent = stand.plan({"answer": answer, "stderr": stand.secret}).agent(keep=keep)
    attempt = await agent.attempt(task())
    await agent.aclose()
    stand.close()
    stored = [p.read_bytes() for p in stand.place.glob("journal.sqlite3*")] + [
        p.read_bytes() for p in keep.rglob("*") if p.is_file()
    ]
    for secret in (stand.secret, planted):
        assert secret not in attempt.text
        assert all(secret.encode() not in content for content in stored)
    assert list(keep.rglob("task.md"))


async def test_a_row_links_to_its_kept_workspace_whose_name_can_be_read(stand: Stand, tmp_path: Path) -> None:
    keep = tmp_path / "run" / "logs" / "agents"
    agent = stand.plan({"answer": "12"}, {"error": "stream disconnected"}).agent(keep=keep, attempts=2)
    link = (await agent.attempt(task())).notes["workspace"]
    assert isinstance(link, str) and link.startswith("logs/agents/rollout-item-1-")
    assert (tmp_path / "run" / link / "work" / "task.md").is_file()
    lost = await agent.attempt(task(2))
    link = lost.notes["workspace"]
    assert (
        lost.lost and isinstance(link, str) and link.startswith("logs/agents/rollout-item-2-") and link.endswith("-2")
    )
    assert "stream disconnected" in (tmp_path / "run" / link / "streams" / "stdout.txt").read_text()


async def test_no_workspace_is_kept_and_none_is_linked(stand: Stand) -> None:
    assert "workspace" not in (await stand.plan({"answer": "12"}).agent().attempt(task())).notes


async def test_a_missing_login_is_named_at_once_with_the_fix(stand: Stand, tmp_path: Path) -> None:
    """Codex looks for a way in for minutes; nothing is started and nothing is paid."""
    agent = stand.plan({"sleep": 60}).agent(endpoint=None, login=tmp_path, advise=lambda cause: f"do what {cause} asks")
    with pytest.raises(FatalModelError) as caught:
        await agent.probe()
    assert str(tmp_path / ".codex" / "auth.json") in caught.value.message
    assert (caught.value.cause, caught.value.hint) == ("key", "do what key asks")
    assert stand.calls == []
    meter = agent.meter
    assert isinstance(meter, Meter)
    assert (meter.settled, meter.open) == ([], 0)


async def test_an_answer_cut_by_the_models_limit_scores_as_cut(stand: Stand) -> None:
    agent = stand.plan({"error": "Incomplete response returned, reason: max_output_tokens"}).agent()
    attempt = await agent.attempt(task())
    assert (attempt.lost, attempt.cut[:17]) == ("", "truncated-output:")
    assert len(stand.calls) == 1


async def test_a_secret_in_an_error_is_redacted(stand: Stand) -> None:
    agent = stand.plan({"error": f"unexpected status 401: bad key {stand.secret}"}).agent()
    with pytest.raises(FatalModelError) as caught:
        await agent.attempt(task())
    assert stand.secret not in str(caught.value)


async def test_what_runs_cost_is_learned_for_the_next_reservation(stand: Stand) -> None:
    agent = stand.plan(GOOD).agent()
    await agent.attempt(task(1))
    await agent.attempt(task(2))
    meter = agent.meter
    assert isinstance(meter, Meter)
    (first, _), (second, completion) = meter.reserved
    assert first > second
    assert completion == 7
    assert [u.prompt_tokens for u in meter.settled] == [100, 100]


async def test_the_ledger_is_the_sum_of_the_runs(stand: Stand) -> None:
    agent = stand.plan({"answer": ""}, GOOD).agent()
    await agent.attempt(task(1))
    await agent.attempt(task(2))
    (row,) = stand.opened[0].ledger()
    assert (row.calls, row.prompt_tokens, row.completion_tokens) == (3, 300, 21)
    assert row.role == "target"


async def test_images_become_files_in_the_workspace(stand: Stand) -> None:
    data = "data:image/png;base64,iVBORw0KGgo="
    parts = (
        {"type": "text", "text": "What is shown?"},
        {"type": "image_url", "image_url": {"url": data}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    )
    stand.plan({"answer": "12"})
    program = stand.place / "codex"
    program.write_text(program.read_text().replace("p.read_text() for", "p.read_bytes().decode('latin-1') for"))
    await stand.agent().attempt(task(messages=lambda skill: (Message("user", parts),)))
    (call,) = stand.calls
    assert call["files"]["attachments/01_image.png"].startswith("\x89PNG")
    assert "attachments/01_image.png" in call["files"]["ATTACHMENTS.md"]
    assert "https://example.org/a.png" in call["files"]["ATTACHMENTS.md"]
    assert call["files"]["task.md"] == "What is shown?\n"
    assert any(a.endswith("attachments/01_image.png") for a in call["argv"])


async def test_a_chat_question_runs_in_an_empty_workspace(stand: Stand) -> None:
    agent = stand.plan({"answer": "ready"}).agent()
    reply = await agent.chat(ChatRequest((Message("user", "Say ready."),), stage="probe"))
    assert reply.text == "ready"
    assert reply.usage.prompt_tokens == 100
    assert stand.calls[0]["prompt"] == "Say ready."
    assert stand.calls[0]["files"] == {}


def _running(stand: Stand) -> list[int]:
    """Processes of the stand-in program."""
    found: list[int] = []
    for process in processes.alive():
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if str(stand.place / "codex").encode() in line and b"guard.py" not in line:
            found.append(process.pid)
    return found
