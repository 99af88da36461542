"""An environment as the scorer: its own items, or other ones; and a crash in a function that a module holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.agents.base import Attempt, Sampling, Turn
from skillopt.core.errors import DataError
from skillopt.envs.scoring import ScoreContext
from skillopt.model.types import Message
from tests.api.conftest import ITEMS, SMALL


class Boxes:
    """A whole environment in the program."""

    name, version, pass_threshold = "boxes", "1", 1.0
    sampling = Sampling()

    def __init__(self, count: int) -> None:
        self.count = count

    def load(self) -> skillopt.Splits:
        items = tuple(skillopt.Item(row["id"], row) for row in ITEMS[: self.count])
        return skillopt.Splits(items[:12], items[12:20], items[20:], train_total=12)

    def messages(self, item: skillopt.Item, skill_text: str) -> tuple[Message, ...]:
        return (Message("system", f"Answer.\n{skill_text}"), Message("user", str(item.data["question"])))

    def next_turn(self, item: skillopt.Item, turns: Sequence[Turn]) -> str | None:
        return None

    async def score(self, item: skillopt.Item, attempt: Attempt, ctx: ScoreContext) -> skillopt.Scored:
        right = float(attempt.text.strip().endswith(str(item.data["answer"])))
        return skillopt.Scored(right, right, predicted=attempt.text)

    def task_text(self, item: skillopt.Item) -> str:
        return str(item.data["question"])

    def golds(self, item: skillopt.Item) -> tuple[str, ...]:
        return (str(item.data["answer"]),)

    def prompt(self, name: str) -> str | None:
        return None


def test_an_environment_with_its_own_items_and_with_others(tmp_path: Path) -> None:
    env = Boxes(40)
    own = skillopt.plan(scorer=env, target="scripted")
    assert (own.sizes.train, own.sizes.selection, own.sizes.test) == (12, 8, 20)
    others = skillopt.plan(ITEMS[:30], scorer=env, target="scripted")
    assert (others.sizes.train, others.sizes.selection, others.sizes.test) == (9, 9, 12)
    assert len(env.load().train) == 12, "the program's object is left alone"
    result = skillopt.optimize(scorer=env, target="scripted", overrides=SMALL, out=tmp_path / "run")
    assert result.test.after.total == 20 and result.run.config["env"] == "boxes"


def crash(answer: str, item: Mapping[str, Any]) -> float:
    """In a module on disk, so it may run in a worker process."""
    return float(item["no such field"])


def test_a_crash_in_a_worker_names_the_item_and_shows_the_users_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"item 'box-\d+': the scorer .*crash raised KeyError") as caught:
        skillopt.optimize(ITEMS, scorer=crash, target="scripted", overrides=SMALL, out=tmp_path / "run")
    cause = caught.value.__cause__
    assert cause is not None
    import traceback

    assert 'item["no such field"]' in "".join(traceback.format_exception(cause))
