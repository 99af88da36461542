"""The files that a target leaves: from agent programs and the tool loop to the scorer, the same after a resume."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agents import left_files
from skillopt.agents.left_files import LeftFiles, collect
from skillopt.agents.shell import ToolLoopSettings
from skillopt.agents.tool_loop import ToolLoopAgent
from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome, Scored
from skillopt.core.skill import Skill
from skillopt.envs.base import Attempt, ScoreContext
from skillopt.envs.command import run_command
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from tests.agents.stand_in import Stand, task
from tests.agents.test_tool_loop import DONE, Chat, bash, script
from tests.envs.conftest import Config, Model
from tests.envs.episodes import games


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.open(tmp_path / "journal.sqlite3")
    yield opened
    opened.close()


def loop(chat: Chat, journal: Journal, **changes: object) -> ToolLoopAgent:
    return ToolLoopAgent(chat, ToolLoopSettings({"PATH": os.environ["PATH"]}, **changes), journal=journal)  # type: ignore[arg-type]


WANTED = replace(task(), files=True)


def test_what_was_added_or_changed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"task.md": b"the task", "data/a": b"1", "data/b": b"2"}
    for name, content in {**before, "data/b": b"3", "out/x.bin": b"\xff\x00", "big": b"x" * 50, "z": b"last"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    monkeypatch.setattr(left_files, "MOST_BYTES", 40)
    left = collect(tmp_path, before)
    assert left == LeftFiles({"data/b": b"3", "out/x.bin": b"\xff\x00", "z": b"last"}, {"big": 50})
    assert LeftFiles.from_json(left.to_json()) == left
    monkeypatch.setattr(left_files, "MOST_FILES", 1)
    assert collect(tmp_path, before) == LeftFiles({"data/b": b"3"}, {"big": 50, "out/x.bin": 2, "z": 4})


def test_files_are_written_below_a_folder_and_nowhere_else(tmp_path: Path) -> None:
    LeftFiles({"a/b": b"1"}).write(tmp_path / "in")
    assert (tmp_path / "in/a/b").read_bytes() == b"1"
    for name in ("/etc/x", "../x", "a/../../x"):
        with pytest.raises(DataError, match="leads out"):
            LeftFiles({name: b""}).write(tmp_path / "in")
    assert LeftFiles({"n": b"caf\xe9"}).text("n") == "caf\ufffd"
    assert LeftFiles().text("n", "none") == "none"


async def test_the_tool_loops_files_are_there_and_after_a_resume_the_same(journal: Journal, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    replies = (bash(f"echo x >> {ran}; date +%N > now; echo more >> task.md"), DONE)
    first = await loop(script(*replies), journal).attempt(WANTED)
    assert first.workspace is not None
    assert set(first.workspace.files) == {"now", "task.md"}
    assert first.workspace.text("task.md").endswith("?\nmore\n")
    again = await loop(script(*replies), journal).attempt(WANTED)
    assert again == first
    assert ran.read_text() == "x\n"


async def test_files_of_a_loop_that_was_broken_off_after_its_commands(journal: Journal) -> None:
    replies = (bash("echo one > a"), bash("echo two > b", 2), DONE)
    await loop(script(*replies), journal).attempt(task())  # the commands are stored, their files are not
    left = (await loop(script(*replies), journal).attempt(WANTED)).workspace
    assert left == LeftFiles({"a": b"one\n", "b": b"two\n"})


async def test_no_command_leaves_no_file_and_nobody_who_asks_for_none_gets_some(journal: Journal) -> None:
    assert (await loop(script(DONE), journal).attempt(WANTED)).workspace == LeftFiles()
    assert (await loop(script(bash("echo x > y"), DONE), journal).attempt(task(2))).workspace is None


async def test_what_a_cut_attempt_left_is_not_collected(journal: Journal) -> None:
    attempt = await loop(script(bash("echo x > y")), journal, max_turns=1).attempt(WANTED)
    assert attempt.cut and attempt.workspace is None  # it scores 0.0 whatever it left
    assert [entry.kind for entry in journal.entries()] == ["tool", "agent"]


async def test_an_agent_programs_files_without_secrets_and_after_a_resume_the_same(stand: Stand) -> None:
    plan = {"answer": "12", "write": {"out/a.txt": f"key {stand.secret}", "b": "2"}}
    first = await stand.plan(plan).agent().attempt(WANTED)
    assert first.workspace is not None
    assert set(first.workspace.files) == {"out/a.txt", "b"}
    assert stand.secret not in first.workspace.text("out/a.txt")
    stand.close()
    assert await stand.agent().attempt(WANTED) == first
    assert len(stand.calls) == 1


async def test_an_answer_that_was_stored_without_files_is_not_taken_for_one_with(stand: Stand) -> None:
    agent = stand.plan({"answer": "12", "write": {"b": "2"}}).agent()
    assert (await agent.attempt(task())).workspace is None
    assert (await agent.attempt(WANTED)).workspace == LeftFiles({"b": b"2"})
    assert len(stand.calls) == 2


class Checking(games.Plainly):
    """Runs what the target left."""

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        assert attempt.workspace is not None
        assert [row["cmd"] for row in attempt.trajectory if row.get("type") == "tool_call"]
        done = await ctx.command([sys.executable, "main.py"], files=attempt.workspace.files, seconds=20)
        said = done.stdout.strip() if done is not None else "(too slow)"
        return Scored(float(said == "42"), 0.0, predicted=said)


@pytest.mark.parametrize("kind", ["none", "inline", "local"])
async def test_a_scorer_runs_what_was_left_wherever_work_is_done(journal: Journal, kind: str) -> None:
    env = Checking(Config(), games.Settings())
    executor: Executor | None = {"none": None, "inline": InlineExecutor(), "local": LocalExecutor(slots=1)}[kind]
    target = loop(script(bash("echo 'print(6 * 7)' > main.py"), DONE), journal)
    call = Call("rollout", scoring=Scoring(journal=journal, executor=executor))
    rollout = await run_one(env, Item("x"), Skill(""), target, call)
    assert rollout.outcome == Scored(1.0, 0.0, predicted="42")
    if executor is not None:
        await executor.aclose()


async def test_a_command_that_takes_too_long_is_ended_and_told(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert await run_command(InlineExecutor(), argv, files={}, seconds=0.5) is None
    with pytest.raises(OSError):
        await run_command(InlineExecutor(), ["/no/such/program"], files={}, seconds=5)


async def test_a_chat_has_no_directory() -> None:
    seen: list[Attempt] = []

    class Looking(games.Plainly):
        async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
            seen.append(attempt)
            return Scored(1.0, 1.0)

    await run_one(Looking(Config(), games.Settings()), Item("x"), Skill(""), Model(lambda r: "a"), Call("rollout"))
    assert (seen[0].workspace, seen[0].episode) == (None, None)


async def test_an_items_own_files_are_there_and_are_not_what_was_left(journal: Journal) -> None:
    wanted = replace(WANTED, given=lambda: {"in/data.txt": b"seven\n"})
    attempt = await loop(script(bash("cat in/data.txt > copy"), DONE), journal).attempt(wanted)
    assert attempt.workspace == LeftFiles({"copy": b"seven\n"})
