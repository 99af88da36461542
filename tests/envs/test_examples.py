"""The shipped example items and the own-tasks configuration load, are leak-free and score their own gold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from skillopt.core.item import SPLITS
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.registry import create_env
from skillopt.envs.searchqa.scorer import score

from .conftest import Config

ROOT = Path(__file__).parents[2]


def test_searchqa_example() -> None:
    env = create_env("searchqa", Config(split_mode="split_dir", split_dir=str(ROOT / "examples/searchqa")), {})
    splits = env.load()
    assert [len(splits.named(s)) for s in SPLITS] == [16, 12, 16] and not splits.manifest
    kinds = [{item.task_type for item in splits.named(s)} for s in SPLITS]
    assert kinds[0] == kinds[1] == kinds[2] == {"person", "number", "year", "company", "place", "yes_no"}
    for split in SPLITS:
        for item in splits.named(split):
            assert item.data["context"].count("[DOC]") in (2, 3)
            for gold in item.data["answers"]:
                assert score(item, f"<answer>{gold}</answer>").hard == 1.0


async def test_own_tasks_example() -> None:
    raw: dict[str, Any] = yaml.safe_load((ROOT / "examples/own_tasks/config.yaml").read_text(encoding="utf-8"))["env"]
    common = {k: v for k, v in raw.items() if k in Config.__dataclass_fields__}
    common["data_path"] = str(ROOT / common["data_path"])
    own = {k: v for k, v in raw.items() if k not in Config.__dataclass_fields__}
    for scorer in (
        own["scorer"],
        {"name": "callable", "function": "my_scorer:score", "directory": str(ROOT / "examples/own_tasks")},
    ):
        env = create_env("jsonl", Config(**common), {**own, "scorer": scorer})
        splits = env.load()
        assert [len(splits.named(s)) for s in SPLITS] == [8, 10, 12]
        item = splits.test[0]
        right = f"The queue is\n{item.data['answer']}"
        assert (await scored(env, item, right)).hard == 1.0
        assert (await scored(env, item, "none of them")).hard == 0.0
        assert env.messages(item, "")[1].content == f"Message: {item.data['text']}\nQueue:"


@pytest.mark.parametrize("name", ["searchqa/skills/initial.md", "_template/skills/initial.md"])
def test_initial_skills_are_short_and_have_no_rules(name: str) -> None:
    text = (ROOT / "skillopt/envs" / name).read_text(encoding="utf-8")
    assert text.startswith("# ") and "No rules yet." in text
