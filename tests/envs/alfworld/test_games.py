"""Real ALFWorld games played to success by a hand-written policy: through our loop and in the library's environment."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.alfworld.adapter import ALFWorldEnv, ALFWorldSettings
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.store.journal import Journal
from tests.envs.alfworld.policy import respond_by_policy
from tests.envs.conftest import SHARED, Config, Model

ROOT = SHARED / "alfworld"
pytestmark = [
    pytest.mark.skipif(not ROOT.is_dir(), reason=f"{ROOT}: the real games are not on this machine"),
    pytest.mark.skipif(
        find_spec("textworld") is None or find_spec("alfworld") is None, reason="the extra `alfworld` is not installed"
    ),
]
PLAYED = ("train:0000", "train:0001", "train:0002")


def env_of(root: Path = ROOT, *, max_turns: int = 50) -> ALFWorldEnv:
    config = Config(name="alfworld", split_mode="split_dir", split_dir=str(ROOT / "split"), max_turns=max_turns)
    return ALFWorldEnv(config, ALFWorldSettings(data_root=str(root)))


def items() -> dict[str, Item]:
    splits = env_of().load()
    return {item.id: item for item in (*splits.train, *splits.selection, *splits.test)}


async def played(item: Item, env: ALFWorldEnv, scoring: Scoring | None = None) -> tuple[Rollout, Model]:
    model = Model(respond_by_policy())
    return await run_one(env, item, Skill("Search."), model, Call("rollout", scoring=scoring or Scoring())), model


def by_the_library(item: Item, actions: list[str]) -> tuple[list[str], bool]:
    """What ALFWorld's own environment says to the same actions."""
    import textworld
    import textworld.gym
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos

    infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
    game = str(ROOT / str(item.data["gamefile"]))
    name = textworld.gym.register_games(
        [game], infos, batch_size=1, asynchronous=False, max_episode_steps=50,
        wrappers=[AlfredDemangler(shuffle=False), AlfredInfos],
    )  # fmt: skip
    env = textworld.gym.make(name)
    observations, _ = env.reset()
    said, won = [observations[0]], False
    for action in actions:
        observations, _, _, info = env.step([action])
        said.append(observations[0])
        won = bool(info["won"][0])
    env.close()
    return [text.replace("-= Welcome to TextWorld, ALFRED! =-", "").strip() for text in said], won


async def compared(item: Item) -> Scored:
    rollout, _ = await played(item, env_of())
    turns = [row for row in rollout.trajectory if row.get("type") == "message"]
    said, won = by_the_library(item, [str(row["action"]) for row in turns])
    assert said == [str(rollout.trajectory[0]["content"]), *(str(row["env_feedback"]) for row in turns)]
    assert isinstance(rollout.outcome, Scored)
    assert rollout.outcome.hard == float(won)
    return rollout.outcome


async def test_a_game_is_won_as_in_the_library() -> None:
    """Two resets of 3 s."""
    assert (await compared(items()["train:0001"])).hard == 1.0


@pytest.mark.slow_campaign
async def test_twenty_games_are_won_as_in_the_library() -> None:
    won = 0
    for item in items().values():
        won += (await compared(item)).hard == 1.0
        if won == 20:
            return
    raise AssertionError(f"{won} games were won")


async def test_a_resumed_game_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite3")
    item, env = items()["train:0001"], env_of()
    first, model = await played(item, env, Scoring(journal=journal))
    assert isinstance(first.outcome, Scored) and first.outcome.detail == {"turns": 4, "ended": "done"}
    requests = [str(r.messages[-1].content) for r in model.requests]
    assert "You have taken" not in requests[0] and requests[0].count("→") == 0
    assert requests[3].count("→") == 2 and "You have taken 3 of at most 50 steps" in requests[3]
    assert "## Skill Knowledge" in requests[0] and "- go to" in requests[0] and "- help" not in requests[0]
    monkeypatch.setattr("skillopt.envs.alfworld.game.start", None)
    again, _ = await played(item, env, Scoring(journal=journal))
    assert again == first
    # A game that is gone while the run is on: missing with one line, never 0.
    elsewhere = env_of(tmp_path)
    monkeypatch.undo()
    lost, _ = await played(item, elsewhere)
    assert isinstance(lost.outcome, Missing)
    assert lost.outcome.error.endswith("game.tw-pddl: the game file does not exist") and "\n" not in lost.outcome.error
    journal.close()


def test_the_published_split_is_read() -> None:
    splits = env_of().load()
    assert [len(s) for s in (splits.train, splits.selection, splits.test)] == [18, 12, 24]
    kinds = {i.task_type for i in splits.train}
    assert len(kinds) == 6 and "other" not in kinds and "pick_and_place" in kinds


def _traj() -> dict[str, Any]:
    people = [{"task_desc": f"Put it {n}.", "high_descs": ["Go.", "Put."]} for n in range(5)]
    return {
        "turk_annotations": {"anns": people},
        "pddl_params": {"object_target": "Mug", "toggle_target": ""},
        "scene": {"floor_plan": "FloorPlan7"},
        "plan": {"high_pddl": [{"discrete_action": {"action": "GotoLocation", "args": ["desk"]}}]},
    }


def test_the_hidden_reference(tmp_path: Path) -> None:
    item, env = items()["train:0001"], env_of(tmp_path)
    assert env.hidden_reference(item) is None
    place = (tmp_path / str(item.data["gamefile"])).with_name("traj_data.json")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(_traj()))
    text = env.hidden_reference(item) or ""
    assert text.count("Put it") == 3 and "1. Go." in text and "object_target=Mug" in text and "toggle" not in text
    assert "GotoLocation desk" in text and text.endswith("Scene: FloorPlan7")
    place.write_text("{")
    assert env.hidden_reference(item) is None
