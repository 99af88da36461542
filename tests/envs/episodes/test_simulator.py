"""The simulator behind the executor: the same whoever holds it, played again after a loss, stored with the answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skillopt.config.schema.root import EnvSection
from skillopt.core.errors import ConfigError, ReplayMiss
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.episodes.recipe import Recipe
from skillopt.envs.episodes.work import recipe_of
from skillopt.envs.registry import create_env
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.score_work import HANDLERS
from skillopt.envs.scoring import Scoring
from skillopt.store.journal import Journal
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from skillopt.work.registry import BUILT_IN, Registry
from tests.envs.conftest import Config, Model

from . import games
from .test_loop import counting

REGISTRY = Registry({**BUILT_IN, **HANDLERS})


@pytest.fixture
async def local() -> AsyncGenerator[LocalExecutor]:
    executor = LocalExecutor(slots=2, registry=REGISTRY)
    yield executor
    await executor.aclose()


class Bench:
    """One run's worth of episodes: an environment, an executor, a journal on disk."""

    def __init__(self, place: Path, executor: Executor | None, cls: type[games.Counting] = games.Counting) -> None:
        self.log = place / "log"
        self.log.touch()
        self.place, self.cls = place, cls
        settings = {"log": str(self.log)}
        common = {**vars(Config(max_turns=5)), "name": f"tests.envs.episodes.games:{cls.__name__}"}
        self.recipe = Recipe(common["name"], common, settings)
        self.env = cls(Config(max_turns=5), games.Settings(log=str(self.log)))
        self.executor = executor

    async def played(
        self, data: dict[str, Any] | None = None, *, replay: bool = False, attempts: int = 3, model: Any = None
    ) -> Rollout:
        """Play one item with the journal of all plays before."""
        journal = Journal.open(self.place / "journal.sqlite3", replay=replay)
        scoring = Scoring(
            seed=7, executor=self.executor, journal=journal, recipe=self.recipe if self.executor else None,
            attempts=attempts,
        )  # fmt: skip
        try:
            model = model or Model(counting)
            return await run_one(
                self.env, Item("x", data or {}), Skill("Count."), model, Call("rollout", 0, 0, scoring)
            )
        finally:
            await journal.aclose()

    @property
    def told(self) -> list[str]:
        """What the simulators noted, without the processes."""
        return [line.partition(" ")[2] for line in self.log.read_text().splitlines()]

    @property
    def processes(self) -> set[int]:
        return {int(line.split()[0]) for line in self.log.read_text().splitlines()}


ONCE = ["reset", "step 1", "step 2", "step 3", "close"]


async def test_the_same_rollout_whoever_plays_it(tmp_path: Path, local: LocalExecutor) -> None:
    found: list[Rollout] = []
    for name, executor in (("here", None), ("inline", InlineExecutor(REGISTRY)), ("local", local)):
        (tmp_path / name).mkdir()
        bench = Bench(tmp_path / name, executor)
        found += [await bench.played(data) for data in ({}, {"plain": True})]
        assert bench.told[: len(ONCE)] == ONCE
    first = found[0]
    assert all(r.outcome == first.outcome for r in found)
    assert [r.trajectory[2] for r in found] == [first.trajectory[2]] * len(found)


async def test_a_worker_holds_a_whole_episode_and_the_next_one_too(tmp_path: Path, local: LocalExecutor) -> None:
    import os

    bench = Bench(tmp_path, local)
    await bench.played({"n": 1})
    await bench.played({"n": 2})
    assert len(bench.processes) == 1
    assert os.getpid() not in bench.processes


async def test_what_was_played_is_not_played_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, InlineExecutor(REGISTRY))
    first = await bench.played()
    again = await bench.played()
    assert again == first
    assert bench.told == ONCE
    assert await bench.played(replay=True) == first


class Killed(Exception):
    """Stands for the end of the process in the middle of an episode."""


async def test_an_episode_that_was_interrupted_is_brought_forward(tmp_path: Path) -> None:
    def killed(request: Any) -> Any:
        return Killed() if len(request.messages) > 4 else counting(request)

    bench = Bench(tmp_path, InlineExecutor(REGISTRY))
    with pytest.raises(Killed):
        await bench.played(model=Model(killed))
    assert bench.told == ["reset", "step 1", "close"] or bench.told == ["reset", "step 1", "step 2", "close"]
    bench.log.write_text("")
    whole = await bench.played()
    assert bench.told == ONCE
    (tmp_path / "other").mkdir()
    assert whole == await Bench(tmp_path / "other", InlineExecutor(REGISTRY)).played()


async def test_a_replay_never_plays(tmp_path: Path) -> None:
    bench = Bench(tmp_path, InlineExecutor(REGISTRY))
    await bench.played({"endless": True, "n": 1})
    bench.log.write_text("")
    with pytest.raises(ReplayMiss, match="no step of a rollout episode"):
        await bench.played({"endless": True, "n": 2}, replay=True)
    assert bench.told == []


async def test_a_lost_worker_is_replaced_and_its_actions_are_played_again(tmp_path: Path, local: LocalExecutor) -> None:
    bench = Bench(tmp_path, local)
    rollout = await bench.played({"dies": 2, "deaths": 2})
    assert rollout.scored is not None and rollout.scored.hard == 1.0
    assert bench.told == ["reset", "step 1", "step 2", "death", "reset", "step 1", "step 2", "death", *ONCE]
    assert len(bench.processes) == 3


async def test_a_step_that_takes_every_worker_along_is_missing(tmp_path: Path, local: LocalExecutor) -> None:
    bench = Bench(tmp_path, local)
    rollout = await bench.played({"dies": 3}, attempts=2)
    assert isinstance(rollout.outcome, Missing)
    assert "worker lost" in rollout.outcome.error and "killed by signal 9" in rollout.outcome.error
    assert bench.told.count("death") == 2


async def test_a_step_that_blocks_ends_with_its_worker(tmp_path: Path, local: LocalExecutor) -> None:
    bench = Bench(tmp_path, local, games.Quick)
    rollout = await bench.played({"blocks": 2, "n": 1})
    assert rollout.outcome == Missing("the simulator of 'counting' took longer than 0.5 s")
    assert (await bench.played({"n": 2})).scored is not None


@pytest.mark.parametrize(
    ("data", "words"),
    [({"fails": 2}, "raised KeyError: 'door'"), ({"leaves": 2}, "raised SystemExit: 3"), ({"odd": 1}, "not Step")],
)
async def test_a_fault_is_the_same_inline_and_in_a_worker(
    tmp_path: Path, local: LocalExecutor, data: dict[str, Any], words: str
) -> None:
    for name, executor in (("inline", InlineExecutor(REGISTRY)), ("local", local)):
        (tmp_path / name).mkdir()
        outcome = (await Bench(tmp_path / name, executor).played(data)).outcome
        assert isinstance(outcome, Missing) and words in outcome.error


async def test_a_simulator_that_answers_otherwise_is_named(tmp_path: Path, local: LocalExecutor) -> None:
    rollout = await Bench(tmp_path, local).played({"dies": 2, "deaths": 1, "clock": True})
    assert isinstance(rollout.outcome, Missing)
    assert "answers otherwise when the same actions are played again" in rollout.outcome.error


async def test_other_source_in_the_worker_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, InlineExecutor(REGISTRY))
    bench.env.version = "2"
    with pytest.raises(ConfigError, match="the source of environment 'counting' was changed"):
        await bench.played()


def test_what_a_worker_can_build_has_a_recipe_and_what_it_cannot_has_none() -> None:
    place = "tests.envs.episodes.games:Counting"
    section, settings = EnvSection(name=place, max_turns=5), games.Settings(log="")
    built = create_env(place, section, settings)
    recipe = recipe_of(built, section, settings)
    assert recipe is not None and recipe.name == place and recipe.config["max_turns"] == 5
    assert recipe_of(games.Plainly(section, settings), section, settings) is None, "plays no episodes"
    assert recipe_of(games.Quick(section, settings), section, settings) is None, "another class"
    built.version = "2"
    assert recipe_of(built, section, settings) is None, "what would be built is another version"
    assert recipe_of(built, EnvSection(name="in a notebook"), settings) is None


async def test_what_is_no_score_is_not_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, InlineExecutor(REGISTRY))
    for _ in range(2):
        with pytest.raises(Exception, match="the simulator said score"):
            await bench.played({"score": 7})
    assert bench.told.count("step 1") == 2
