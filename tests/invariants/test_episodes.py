"""Episodes in whole runs: a game is learned, whoever plays it and whatever is killed; I1, I2, I3, I5 and I10."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kill_resume import campaign
from skillopt.config import load_config, parse_overrides
from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.errors import ConfigError
from skillopt.core.skill import Skill
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.records.directory import JOURNAL
from skillopt.store.journal import Journal
from skillopt.testing import rooms
from skillopt.testing.rooms_task import answer, write_config
from skillopt.testing.trees import differences, tree
from skillopt.work.local import LocalExecutor
from tests.work.processes import lives

BROKEN = """
from skillopt.testing.rooms_env import RoomsEnv, RoomsEpisode

class Breaking(RoomsEpisode):
    async def step(self, action):
        if self._number in {numbers}:
            raise OSError("the renderer has crashed")
        return await super().step(action)

class BreakingRooms(RoomsEnv):
    version = "breaking"
    def open_episode(self, item):
        return Breaking(int(item.data["number"]))
"""


async def run(place: Path, name: str, *, seed: int | None = None, replay: bool = False, **changes: Any) -> int:
    """Train; with a seed, while workers are killed at random. Returns how many were lost."""
    more = {"evaluation__prefetch": False, "executor__kind": "inline", "executor__attempts": 20, **changes}
    config = write_config(place / f"{name}.yaml", **more)
    overrides = parse_overrides([f"env.out_root={place / name}"])
    resolved = load_config(config, overrides=overrides, environ={}, env_schemas=settings_schemas())
    async with open_run_context(resolved, out_root=place / name, emit=Events(), replay=replay) as context:
        async with killing(context, seed) as lost:
            await train(context)
        return len(lost)


class killing:
    """While the block lasts, living workers are killed now and then."""

    def __init__(self, context: RunContext, seed: int | None) -> None:
        self._context, self._seed, self._lost = context, seed, list[int]()

    async def __aenter__(self) -> list[int]:
        self._task = asyncio.ensure_future(self._kill()) if self._seed is not None else None
        return self._lost

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _kill(self) -> None:
        executor, source = self._context.executor, random.Random(self._seed)
        assert isinstance(executor, LocalExecutor)
        while len(self._lost) < 8:
            await asyncio.sleep(source.uniform(0.0, 0.6))
            if pids := sorted(m.pid for m in executor._members if lives(m.pid)):
                pid = source.choice(pids)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self._lost.append(pid)


def result(place: Path, name: str) -> dict[str, bytes]:
    """All views of a run; which executor it had is said in its configuration and nowhere else."""
    return tree(place / name, without=("config.yaml", "config.json"))


def stored(place: Path, name: str) -> list[tuple[str, str]]:
    journal = Journal.open(place / name / JOURNAL)
    try:
        return sorted((e.kind, e.key) for e in journal.entries() if e.kind in ("episode", "chat"))
    finally:
        journal.close()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run, in one process."""
    place = tmp_path_factory.mktemp("calm")
    asyncio.run(run(place, "calm"))
    return place


def test_the_convention_is_learned(calm: Path) -> None:
    summary = json.loads((calm / "calm/summary.json").read_text())
    best = (calm / "calm/best_skill.md").read_text()
    assert summary["best_selection_hard"] > summary["baseline_selection_hard"]
    assert summary["test_hard"] > summary["baseline_test_hard"]
    assert "CHEST" in best
    for kind, colour in rooms._RULE.findall(best):
        assert rooms.OPENS[int(kind)] == colour


def rollout_dirs(root: Path) -> Iterator[tuple[Path, Path]]:
    yield root / "selection_eval_baseline", root / "skills/skill_v0000.md"
    yield root / "test_eval", root / "best_skill.md"
    for step in sorted((root / "steps").iterdir()):
        yield step / "rollout", root / f"skills/skill_v{int(step.name[-4:]) - 1:04d}.md"


def test_i1_a_score_was_played_with_exactly_those_bytes(calm: Path) -> None:
    checked = 0
    for folder, skill_file in rollout_dirs(calm / "calm"):
        skill = Skill(skill_file.read_text())
        for row in rows(folder / "results.jsonl"):
            assert row["skill_hash"] == skill.hash
            place = folder / "predictions" / row["id"]
            assert without_empty_regions(skill.text).strip() in (place / "target_system_prompt.txt").read_text()
            turns = [e for e in json.loads((place / "conversation.json").read_text()) if e.get("type") == "message"]
            world = _played_again(row["id"], json.loads((place / "conversation.json").read_text())[0]["content"])
            said = [world.act(turn["action"]) for turn in turns]
            assert said == [turn["env_feedback"] for turn in turns]
            assert row["hard"] == float(world.opened) == turns[-1]["reward"]
            assert row["n_turns"] == len(turns) == world.moves
            assert row["agent_ok"] is world.over
            checked += 1
    assert checked > 25


def _played_again(item: str, seen: str) -> rooms.World:
    """The world of a recorded episode, found by its item and its first sight."""
    from skillopt.core.item import Item
    from skillopt.core.streams import named

    number = int(item.removeprefix("world-"))
    whole = Item(item, {"number": number}, f"chest of kind {number % len(rooms.OPENS)}")
    world = rooms.World.make(number, named(12, "episode", whole.digest, 0).getrandbits(31))
    assert world.look() == seen
    return world


def test_i5_selection_and_test_worlds_reach_no_analyst(calm: Path) -> None:
    journal = Journal.open(calm / "calm" / JOURNAL)
    try:
        assert sum(e.kind == "episode" for e in journal.entries()) > 100
    finally:
        journal.close()
    config = json.loads((calm / "calm/config.json").read_text())
    assert config["train_size"] == 12
    shown = "".join(p.read_text() for p in (calm / "calm/steps").rglob("*.json") if "patch" in p.name)
    assert not any(f'world-{n}"' in shown for n in range(12, 28))


async def test_directories_are_the_same_inline_and_in_workers(calm: Path, tmp_path: Path) -> None:
    await run(tmp_path, "local", executor__kind="local")
    assert differences(result(calm, "calm"), result(tmp_path, "local")) == []
    assert stored(calm, "calm") == stored(tmp_path, "local")


async def test_a_finished_run_plays_nothing_and_a_replay_needs_no_game(
    calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, keys = result(calm, "calm"), stored(calm, "calm")

    def never(*arguments: object) -> rooms.World:
        raise AssertionError("a game was begun")

    monkeypatch.setattr(rooms.World, "make", never)
    await run(calm, "calm")
    await run(calm, "calm", replay=True)
    assert differences(before, result(calm, "calm")) == []
    assert stored(calm, "calm") == keys


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1])
async def test_directories_are_the_same_when_workers_are_killed(calm: Path, tmp_path: Path, seed: int) -> None:
    lost = await run(tmp_path, f"killed{seed}", seed=seed, executor__kind="local")
    assert lost > 0, "no worker was lost: the test shows nothing"
    assert differences(result(calm, "calm"), result(tmp_path, f"killed{seed}")) == []
    assert stored(calm, "calm") == stored(tmp_path, f"killed{seed}")


@pytest.mark.slow_campaign
async def test_directories_are_the_same_when_workers_are_killed_many_times(calm: Path, tmp_path: Path) -> None:
    for seed in range(3, 33):
        assert await run(tmp_path, f"killed{seed}", seed=seed, executor__kind="local") > 0
        assert differences(result(calm, "calm"), result(tmp_path, f"killed{seed}")) == [], f"seed {seed}"


async def test_i2_a_broken_simulator_is_missing_never_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "breaking_rooms.py").write_text(BROKEN.format(numbers="(1, 13, 21)"))
    monkeypatch.chdir(tmp_path)
    await run(tmp_path, "run", env__name="breaking_rooms:BreakingRooms", evaluation__coverage_floor=0.8)
    missing = 0
    for path in (tmp_path / "run").rglob("results.jsonl"):
        for row in rows(path):
            if row["id"] in ("world-1", "world-13", "world-21"):
                missing += 1
                assert row["status"] == "missing" and "hard" not in row
                assert row["error"] == "the simulator of 'rooms' raised OSError: the renderer has crashed"
            else:
                assert row["status"] == "scored"
    assert missing >= 4
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert (summary["test"]["n"], summary["test"]["total"]) == (7, 8)


async def test_a_simulator_that_is_broken_for_all_stops_the_run_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "all_breaking.py").write_text(BROKEN.format(numbers="range(99)"))
    monkeypatch.chdir(tmp_path)
    await run(tmp_path, "run", env__name="all_breaking:BreakingRooms")
    told = (tmp_path / "run/logs/events.jsonl").read_text()
    assert "only 0 of 8 selection items could be measured with the initial skill; the first error was: " in told
    assert "the simulator of 'rooms' raised OSError: the renderer has crashed" in told
    assert not list((tmp_path / "run").rglob("steps/*"))


async def test_an_agent_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="plays episodes: its target is a chat model"):
        await run(tmp_path, "run", model__target_agent="tool_loop", env__max_turns=1)
    assert not (tmp_path / "run").exists()


def configured(scratch: Path, url: str, **changes: Any) -> Path:
    return write_config(scratch / "config.yaml", url, **changes)


def answering(body: Mapping[str, Any]) -> tuple[str, Any]:
    return answer(body)


SMALL = {"env__train_worlds": 6, "env__selection_worlds": 6, "env__test_worlds": 3}


async def _killed_drivers(kind: str, *, trials: int, kills: int, own_hand: float) -> None:
    fast = Path("/dev/shm")
    where = fast if fast.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="skillopt-", dir=where, ignore_cleanup_errors=True) as scratch:
        outcome = await campaign(
            trials=trials, kills=kills, seed=7, own_hand_share=own_hand, scratch=Path(scratch), answering=answering,
            configured=configured, executor__kind=kind, **SMALL,
        )  # fmt: skip
    assert outcome.different == []
    assert outcome.failed == []
    assert outcome.paid_twice == 0
    assert outcome.sent_again <= outcome.in_flight
    assert outcome.kills >= trials * kills // 2


@pytest.mark.thorough
@pytest.mark.cases(1)
@pytest.mark.parametrize(("kind", "own_hand"), [("inline", 1.0), ("local", 0.0)])
async def test_i3_kill_at_any_moment(kind: str, own_hand: float) -> None:
    """By its own hand before or after a write, and by the clock while workers play."""
    await _killed_drivers(kind, trials=1, kills=3, own_hand=own_hand)


@pytest.mark.slow_campaign
@pytest.mark.parametrize("kind", ["inline", "local"])
async def test_i3_a_hundred_kills(kind: str) -> None:
    await _killed_drivers(kind, trials=20, kills=5, own_hand=0.5)
