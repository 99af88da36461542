"""The readout stands in the first user turn, changes the request, and leaves items, turns and scores alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.envs.base import Env, hidden_reference, takes_readout
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.readout import WithReadout
from skillopt.envs.registry import create_env
from skillopt.model.types import Message

from .conftest import Config, write


def jsonl(tmp_path: Path, **settings: Any) -> Env:
    rows = [{"q": f"number {n}", "answer": str(n), "how": f"count to {n}"} for n in range(10)]
    path = write(tmp_path / "tasks.jsonl", "\n".join(map(json.dumps, rows)))
    values = {"prompt_template": "Read: {{ q }}", "scorer": "exact", **settings}
    return create_env("jsonl", Config(name="jsonl", data_path=str(path)), values)


async def test_the_probe_is_added_to_the_first_user_turn_only(tmp_path: Path) -> None:
    env = jsonl(tmp_path)
    asking = WithReadout(env, "Say which rule you used.")
    item = env.load().train[0]
    before, after = env.messages(item, "Rule.\n"), asking.messages(item, "Rule.\n")
    assert after[0] == before[0]
    assert after[1].content == f"{before[1].content}\n\n## Training Readout\n\nSay which rule you used.\n"
    told = "<analysis>x</analysis>\n<answer>3</answer>"
    assert await scored(asking, item, told) == await scored(env, item, "<answer>3</answer>")
    assert (asking.golds(item), asking.task_text(item)) == (env.golds(item), env.task_text(item))
    assert (asking.name, asking.version, asking.sampling) == (env.name, env.version, env.sampling)


def test_a_turn_with_parts_gets_a_part() -> None:
    class Pictures:
        def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
            return (Message("user", ({"type": "image_url", "image_url": {"url": "data:"}},)),)

    message = WithReadout(Pictures(), "Why?").messages(Item("a"), "")[0]  # pyright: ignore[reportArgumentType]
    assert message.content[-1] == {"type": "text", "text": "## Training Readout\n\nWhy?"}
    assert len(message.content) == 2


def test_the_reference_column_is_for_analysts_only(tmp_path: Path) -> None:
    env = jsonl(tmp_path, reference_field="how", prompt_template="{{ q }} {{ item }}")
    item = env.load().train[0]
    assert hidden_reference(env, item) == hidden_reference(WithReadout(env, "?"), item) == item.data["how"]
    assert "count to" not in str([m.content for m in env.messages(item, "")])
    assert hidden_reference(jsonl(tmp_path), item) == ""
    with pytest.raises(ConfigError, match="shows the reference field 'how' to the target"):
        jsonl(tmp_path, reference_field="how", prompt_template="{{ q }} {{ how }}")


@pytest.mark.parametrize(("how", "takes"), [("answer_tag", True), ("last_line", True), ("boxed", True),
                                            ("whole", False), ("json", False)])  # fmt: skip
def test_where_the_whole_reply_is_the_answer_no_readout_fits(tmp_path: Path, how: str, takes: bool) -> None:
    assert takes_readout(jsonl(tmp_path, answer_format=how)) is takes
