"""A scoring function in `jsonl` that reads the files which the target left, and tells analysts what it saw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from skillopt.agents.left_files import LeftFiles
from skillopt.cli.main import invoke
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.core.skill import Skill
from skillopt.envs.base import reads_workspace
from skillopt.envs.registry import create_env
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scorers.calling import Calling
from skillopt.envs.scoring import Scoring
from skillopt.records.vocabulary import Stage
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from tests.agents.test_left_files import journal as journal
from tests.agents.test_left_files import loop
from tests.agents.test_tool_loop import DONE, bash, script
from tests.envs.conftest import Config, Model
from tests.envs.episodes.test_simulator import REGISTRY

MODULE = '''
def demands(answer, item, workspace, trajectory):
    """The file counts, not what is said; a number of commands is named to analysts."""
    ran = sum(entry.get("type") == "tool_call" for entry in trajectory)
    found = workspace.text("out/total.txt", "nothing").strip()
    return float(found == item["total"]), f"out/total.txt holds {found}, after {ran} command(s)"

def takes(answer, item, workspace=None):
    return 0.25 if workspace is None else 1.0

async def waits(rollout, workspace):
    return {"hard": float(sorted(workspace.files) == ["out/total.txt"]), "feedback": rollout.item.id}
'''
WRITES = bash("mkdir out; printf '\\xff 42' | tail -c 2 > out/total.txt")


def _module(folder: Path) -> str:
    """A name of its own for each folder, as a module is imported once a process."""
    name = f"files_scorer_{folder.name}"
    (folder / f"{name}.py").write_text(MODULE)
    return name


def _env(folder: Path, function: str, **more: Any) -> Any:
    (folder / "rows.json").write_text(
        json.dumps([{"id": f"q{n}", "task": f"sum {n}", "total": "42"} for n in range(9)])
    )
    scorer: Mapping[str, Any] = {
        "name": "callable",
        "function": f"{_module(folder)}:{function}",
        "directory": str(folder),
    }
    values = {"prompt_template": "{{ task }}", "answer_field": "total", "scorer": more.get("scorer", scorer)}
    return create_env("jsonl", cast("Any", Config(name="jsonl", data_path=str(folder / "rows.json"))), values)


@pytest.mark.parametrize(
    "kind",
    ["inline", pytest.param("none", marks=pytest.mark.thorough), pytest.param("local", marks=pytest.mark.thorough)],
)
async def test_files_and_feedback_wherever_work_is_done(tmp_path: Path, journal: Journal, kind: str) -> None:
    executor: Executor | None = {
        "none": None,
        "inline": InlineExecutor(REGISTRY),
        "local": LocalExecutor(slots=1, registry=REGISTRY),
    }[kind]
    call, item = (
        Call(Stage.ROLLOUT, scoring=Scoring(journal=journal, executor=executor)),
        Item("q1", {"task": "sum", "total": "42"}),
    )
    env = _env(tmp_path, "demands")
    assert reads_workspace(env) and env.needs_workspace
    told = "out/total.txt holds 42, after 1 command(s)"
    for _ in range(2):  # the second time from the journal
        rollout = await run_one(env, item, Skill(""), loop(script(WRITES, DONE), journal), call)
        assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0
        assert rollout.outcome.detail["feedback"] == told
    other = await run_one(env, Item("q2", {"task": "sum", "total": "7"}), Skill(""), loop(script(DONE), journal), call)
    assert isinstance(other.outcome, Scored) and other.outcome.hard == 0.0
    assert other.outcome.detail["feedback"] == "out/total.txt holds nothing, after 0 command(s)"
    waiting = await run_one(_env(tmp_path, "waits"), item, Skill(""), loop(script(WRITES, DONE), journal), call)
    assert isinstance(waiting.outcome, Scored) and waiting.outcome.detail["feedback"] == "q1"
    assert waiting.outcome.hard == 1.0
    if executor is not None:
        await executor.aclose()


async def test_as_a_part_and_without_a_directory(tmp_path: Path, journal: Journal) -> None:
    """An optional `workspace` is None for a chat; in a combination it is given too."""
    call, item = Call(Stage.ROLLOUT, scoring=Scoring(journal=journal)), Item("q1", {"task": "sum", "total": "42"})
    env = _env(tmp_path, "takes")
    assert reads_workspace(env) and not env.needs_workspace
    chat = await run_one(env, item, Skill(""), Model(lambda r: "42"), call)
    assert isinstance(chat.outcome, Scored) and chat.outcome.hard == 0.25
    part = {"name": "callable", "function": f"{_module(tmp_path)}:takes", "directory": str(tmp_path)}
    whole = _env(tmp_path, "takes", scorer={"name": "all_of", "parts": [part]})
    rollout = await run_one(whole, item, Skill(""), loop(script(DONE), journal), call)
    assert isinstance(rollout.outcome, Scored) and rollout.outcome.hard == 1.0


def test_other_files_are_another_score() -> None:
    """What a score rests on names the files' bytes, and their names."""
    calling = Calling.of(lambda answer, item, workspace: 1.0, "mine")
    left = [
        LeftFiles(),
        LeftFiles({"a": b"1"}),
        LeftFiles({"a": b"2"}),
        LeftFiles({"b": b"1"}),
        LeftFiles({}, {"a": 9}),
    ]
    keys = [calling.rests_on(cast("Any", SimpleNamespace(workspace=each, trajectory=()))) for each in (None, *left)]
    assert len(set(keys)) == len(keys)
    assert Calling.of(lambda answer, item: 1.0, "mine").rests_on(cast("Any", SimpleNamespace(workspace=None))) == ""


@pytest.mark.thorough
def test_a_chat_target_is_refused_before_anything_is_spent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _env(tmp_path, "demands")
    scorer = {"name": "callable", "function": f"{_module(tmp_path)}:demands", "directory": str(tmp_path)}
    values = {"name": "jsonl", "data_path": str(tmp_path / "rows.json"), "prompt_template": "{{ task }}",
              "answer_field": "total", "out_root": str(tmp_path / "run"), "scorer": scorer}  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps({"env": values}))
    for verb in ("train", "plan", "doctor"):
        assert invoke([verb, "--config", str(tmp_path / "config.yaml"), "--backend", "scripted"]) != 0, verb
        output = capsys.readouterr()
        assert "reads the files that the target leaves, and a chat target" in " ".join(
            (output.out + output.err).split()
        )
    assert not (tmp_path / "run/journal.sqlite").exists()
