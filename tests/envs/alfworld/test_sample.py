"""The sample's games: won by their own way and by nothing shorter, from the files that the command writes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.core.errors import DataError
from skillopt.envs.alfworld import sample
from skillopt.envs.alfworld.game import GameEpisode

PLANS = sample.plans()


def test_a_task_says_which_game_it_is_and_what_comes_next() -> None:
    assert len({plan.task for plan in PLANS}) == sample.GAMES == 24
    assert {plan.kind for plan in PLANS} == set(sample._KINDS)
    said = f"## Task\n\n{PLANS[1].task}\n\nStep 2 of at most 8. You see:"
    assert sample.next_action(said) == (PLANS[1].task, PLANS[1].actions[1])
    assert sample.next_action(said.replace("Step 2", "Step 9")) == (PLANS[1].task, "look")
    assert sample.next_action("## Task\n\nput a tank in shelf.\n\nStep 1 of at most 8.") is None


def test_the_real_games_are_fetched_by_their_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match="own program") as caught:
        api.get("alfworld", Request(output=tmp_path / "split"))
    assert "alfworld-download" in caught.value.hint


@pytest.mark.skipif(
    find_spec("textworld") is None or find_spec("alfworld") is None, reason="extra `alfworld` is absent"
)
def test_a_game_is_won_by_its_way(tmp_path: Path) -> None:
    plan = PLANS[1]  # cleaned in a basin, whose name is an exception
    item = sample.write_game(plan, 1, tmp_path)
    game = GameEpisode(tmp_path / str(item["gamefile"]))
    assert game.reset(0).info["task"] == plan.task
    steps = [game.step(action) for action in plan.actions]
    game.close()
    assert [step.score for step in steps] == [0.0] * (len(steps) - 1) + [1.0] and steps[-1].done
    assert not any("Nothing happens" in step.observation for step in steps)
