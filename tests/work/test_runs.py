"""Whole runs: the same directories whoever does the work, and whatever happens to the workers."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import DataError
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.given import Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.model.types import ChatReply, ChatRequest, ToolCall, Usage
from skillopt.records.directory import JOURNAL
from skillopt.store.journal import Journal
from skillopt.testing import toy
from skillopt.testing.toy_task import write_config, write_data
from skillopt.testing.trees import differences, tree
from skillopt.work.local import LocalExecutor
from tests.work.processes import gone, lives

SCORER = """
import os, random, signal, sys
from pathlib import Path
COUNT = Path(__file__).with_name("asked")
KILL = Path(__file__).with_name("kill")  # while it is there, the next unit is lost with its worker

def score(answer, item):
    if KILL.exists():
        KILL.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    with COUNT.open("a") as file:
        file.write(f"{os.getpid()}\\n")
    return {"hard": float(answer == item["answer"]), "fail_reason": "" if answer == item["answer"] else "not that"}

async def later(answer, item):
    return score(answer, item)

def noisy(answer, item):
    return random.random()

def seeing(answer, item, trajectory):
    return answer == item["answer"], f"after {len(trajectory)} entries"

def leaves(answer, item):
    sys.exit(0)

def crashes(answer, item):
    os._exit(3)
"""


class ToolCaller:
    """The toy as a model that works with a shell: it notes its task in the workspace and reads the note back."""

    model, endpoint = "toy-with-tools", "memory"

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "toy-with-tools"}

    async def complete(self, request: ChatRequest) -> ChatReply:
        turns = sum(m.role == "assistant" for m in request.messages)
        if request.tools and turns < 2:
            command = "echo once >> note; wc -l < note" if turns == 0 else "echo twice >> note; cat note task.md"
            call = ToolCall(f"c{turns}", "bash", json.dumps({"command": command}))
            return ChatReply("", "tool_calls", Usage(10, 2), tool_calls=(call,))
        if request.tools:
            note = str(request.messages[-1].content)
            assert note.startswith("once\ntwice\nBox"), note
        plain = tuple(m for m in request.messages if m.role in ("system", "user"))
        return ChatReply(toy.respond(ChatRequest(messages=plain, stage=request.stage, schema=request.schema)))

    async def aclose(self) -> None:
        return


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_data(tmp_path / "data", {"train": 8, "val": 6, "test": 4})
    (tmp_path / "toy_scorer.py").write_text(SCORER)
    yield tmp_path
    sys.modules.pop("toy_scorer", None)


def configured(project: Path, name: str, kind: str, function: str = "score") -> Path:
    """A configuration file of a small run."""
    scorer = {"name": "callable", "function": f"toy_scorer:{function}", "directory": str(project)}
    more: dict[str, Any] = {
        "executor__kind": kind,
        "executor__attempts": 20,
        "train__num_epochs": 1,
        "train__batch_size": 4,
        "evaluation__prefetch": False,  # what is begun on speculation depends on timing, and so would the journal
    }
    if name.startswith("tools"):
        model = {"target_backend": "python", "optimizer_backend": "scripted", "target_agent": "tool_loop"}
        more |= {"model__" + key: value for key, value in model.items()}
    return write_config(project / f"{name}.yaml", project / "data", env__scorer=scorer, **more)


@asynccontextmanager
async def opened(project: Path, name: str, kind: str, function: str = "score") -> AsyncGenerator[RunContext]:
    given = Given(backends={"target": ToolCaller()}) if name.startswith("tools") else Given()
    config = configured(project, name, kind, function)
    overrides = parse_overrides([f"env.out_root={project / name}"])
    resolved = load_config(config, overrides=overrides, environ={}, env_schemas=settings_schemas())
    async with open_run_context(resolved, out_root=project / name, emit=Events(), given=given) as context:
        yield context


async def run(project: Path, name: str, kind: str, *, seed: int | None = None, function: str = "score") -> int:
    """Train; with a seed, while workers are killed at random. Returns how many units were repeated."""
    async with opened(project, name, kind, function) as context:
        executor = context.executor
        killing = None
        if seed is not None:
            assert isinstance(executor, LocalExecutor)
            killing = asyncio.ensure_future(_kill(executor, random.Random(seed)))
        await train(context)
        if killing is not None:
            killing.cancel()
            await asyncio.wait([killing])
        return executor.repeated if isinstance(executor, LocalExecutor) else 0


async def _kill(executor: LocalExecutor, source: random.Random) -> None:
    for _ in range(10):
        await asyncio.sleep(source.uniform(0.0, 0.4))
        if pids := sorted(m.pid for m in executor._members if lives(m.pid)):
            with suppress(ProcessLookupError):
                os.kill(source.choice(pids), signal.SIGKILL)


def result(project: Path, name: str) -> dict[str, bytes]:
    """All views of a run; which executor it had is said in its configuration and nowhere else."""
    return tree(project / name, without=("config.yaml", "config.json"))


def entries(project: Path, name: str) -> list[tuple[str, str]]:
    journal = Journal.open(project / name / JOURNAL)
    try:
        found = sorted((e.kind, e.key) for e in journal.entries() if e.kind in ("score", "tool"))
    finally:
        journal.close()
    assert found, "nothing was stored: the comparison shows nothing"
    return found


@pytest.mark.cases(1)
@pytest.mark.parametrize("function", ["score", "later", "seeing"])
async def test_directories_are_the_same_inline_and_in_workers(project: Path, function: str) -> None:
    await run(project, "inline", "inline", function=function)
    if function == "score":
        assert set((project / "asked").read_text().split()) == {str(os.getpid())}
        (project / "asked").unlink()
    await run(project, "local", "local", function=function)
    if function == "score":
        assert str(os.getpid()) not in (project / "asked").read_text().split()
    assert len(result(project, "inline")) > 50
    assert differences(result(project, "inline"), result(project, "local")) == []
    assert entries(project, "inline") == entries(project, "local")


async def _killed(project: Path, prefix: str, seeds: range) -> None:
    """Each run loses the worker of its first score for certain, others by chance."""
    await run(project, f"{prefix}calm", "inline")
    expected = result(project, f"{prefix}calm")
    for seed in seeds:
        (project / "kill").touch()
        assert await run(project, f"{prefix}{seed}", "local", seed=seed) > 0, "no unit was lost"
        assert differences(expected, result(project, f"{prefix}{seed}")) == [], f"seed {seed}"
        assert entries(project, f"{prefix}{seed}") == entries(project, f"{prefix}calm")


@pytest.mark.thorough
async def test_directories_are_the_same_when_workers_are_killed(project: Path) -> None:
    await _killed(project, "scored", range(2))


@pytest.mark.thorough
async def test_a_tool_loop_is_the_same_when_workers_are_killed(project: Path) -> None:
    await _killed(project, "tools", range(1))


@pytest.mark.slow_campaign
@pytest.mark.parametrize(("prefix", "seeds"), [("scored", range(2, 50)), ("tools", range(1, 10))])
async def test_directories_are_the_same_when_workers_are_killed_many_times(
    project: Path, prefix: str, seeds: range
) -> None:
    await _killed(project, prefix, seeds)


async def test_a_killed_driver_leaves_no_worker_and_its_run_goes_on_to_the_same_end(project: Path) -> None:
    await run(project, "calm", "inline")
    (project / "asked").unlink()
    config = configured(project, "killed", "local")
    command = [sys.executable, "-m", "skillopt", "train", "--config", str(config), f"env.out_root={project / 'killed'}"]
    root = Path(__file__).parents[2]
    driver = await asyncio.create_subprocess_exec(*command, cwd=root, stdout=-3, stderr=-3)

    def in_workers() -> list[int]:
        asked = (project / "asked").read_text().split() if (project / "asked").exists() else []
        return [int(pid) for pid in asked if int(pid) != driver.pid]

    while len(in_workers()) < 8:
        await asyncio.sleep(0.02)
    driver.kill()
    await driver.wait()
    workers = set(in_workers())
    assert await asyncio.to_thread(gone, sorted(workers)), "a worker outlived its driver"
    before = len(entries(project, "killed"))
    assert 0 < before < len(entries(project, "calm"))
    await run(project, "killed", "local")
    assert differences(result(project, "calm"), result(project, "killed")) == []
    assert entries(project, "calm") == entries(project, "killed")


def evaluated(project: Path, name: str, kind: str, seed: int | None = None) -> None:
    """Two skills measured from Python; with a seed, while workers are lost at random moments."""
    code = importlib.import_module("toy_scorer")
    over = threading.Event()
    killing = threading.Thread(target=_kill_now_and_then, args=(project / "kill", random.Random(seed), over))
    if seed is not None:
        killing.start()
    try:
        skillopt.evaluate(
            [toy.toy_item(n) for n in range(12)],
            scorer=code.score,
            target="scripted",
            skills={"none": "", "rules": "RULE 1\nRULE 2"},
            split="all",
            out=project / name,
            overrides={"executor.kind": kind, "executor.attempts": 20},
        )
    finally:
        over.set()
        if seed is not None:
            killing.join()


def _kill_now_and_then(kill: Path, source: random.Random, over: threading.Event) -> None:
    """The first unit for certain, a few later ones; how many of them one after the other has a bound."""
    for _ in range(5):
        kill.touch()
        while kill.exists() and not over.wait(0.01):
            pass
        if over.wait(source.uniform(0.0, 0.3)):
            return


def _evaluated_alike(project: Path, seeds: range) -> None:
    evaluated(project, "inline", "inline")
    expected = measured(project, "inline")
    assert len(expected) > 25
    for seed in seeds:
        evaluated(project, f"local{seed}", "local", seed)
        assert differences(expected, measured(project, f"local{seed}")) == [], f"seed {seed}"
        assert entries(project, f"local{seed}") == entries(project, "inline")


def measured(project: Path, name: str) -> dict[str, bytes]:
    return {path: data for path, data in result(project, name).items() if not path.startswith("_given/")}


@pytest.mark.thorough
def test_an_evaluation_is_the_same_inline_and_when_workers_are_killed(project: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(project)
    _evaluated_alike(project, range(1))


@pytest.mark.slow_campaign
def test_an_evaluation_is_the_same_when_workers_are_killed_many_times(project: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(project)
    _evaluated_alike(project, range(1, 50))


@pytest.mark.parametrize("kind", ["inline", "local"])
async def test_a_random_scorer_says_the_same_when_a_finished_run_is_started_again(project: Path, kind: str) -> None:
    await run(project, "again", kind, function="noisy")
    before = result(project, "again")
    await run(project, "again", kind, function="noisy")
    assert differences(before, result(project, "again")) == []


async def test_a_finished_run_starts_no_worker(project: Path) -> None:
    await run(project, "again", "local")
    asked = (project / "asked").read_text()
    async with opened(project, "again", "local") as context:
        await train(context)
        assert isinstance(context.executor, LocalExecutor)
        assert not context.executor._members
    assert (project / "asked").read_text() == asked


@pytest.mark.parametrize("kind", ["inline", "local"])
async def test_a_scorer_that_leaves_is_named_with_its_item(project: Path, kind: str) -> None:
    with pytest.raises(DataError, match=r"item 'box-\d+': the scorer toy_scorer:leaves raised SystemExit: 0"):
        await run(project, "left", kind, function="leaves")


async def test_a_scorer_that_takes_its_process_along_is_missing_never_zero(project: Path) -> None:
    async with opened(project, "crashed", "local", "crashes") as context:
        rollouts = [r async for r in _some(context)]
    assert [type(r.outcome).__name__ for r in rollouts] == ["Missing"]
    assert "ended with exit code 3" in rollouts[0].outcome.error


async def _some(context: RunContext) -> AsyncGenerator[Any]:
    from skillopt.envs.rollout import Call, run_one

    executor = context.executor
    assert isinstance(executor, LocalExecutor)
    executor._attempts = 2
    yield await run_one(
        context.env, context.selection[0], context.initial, context.target, Call("baseline", scoring=context.scoring)
    )


async def test_a_slow_scorer_does_not_hold_up_the_loop(project: Path) -> None:
    (project / "toy_scorer.py").write_text("import time\ndef score(a, i):\n    time.sleep(0.5)\n    return 1.0\n")
    async with opened(project, "slow", "local") as context:
        beats, scoring = 0, asyncio.ensure_future(anext(aiter(_some(context))))
        while not scoring.done():
            await asyncio.sleep(0.01)
            beats += 1
        assert (await scoring).outcome.hard == 1.0
    assert beats > 20
