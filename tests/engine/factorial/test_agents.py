"""An agent CLI as target: the subset of every rollout is the package that the program finds, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillopt.core.editing.edit import Edit
from skillopt.core.item import Item
from skillopt.core.skill import Skill
from skillopt.envs.registry import create_env
from skillopt.envs.rollout import Call, run_one
from skillopt.optimizer.factorial.compose import compose
from tests.agents.stand_in import Stand
from tests.envs.conftest import Config

BASE = Skill("# Counting\n\nUse wc -l.\n\nCount the header too.\n")
EDITS = {
    0: Edit("append", content="Give digits only."),
    1: Edit("delete", target="Count the header too."),
    2: Edit("replace", target="Use wc -l.", content="Use wc -l on the whole file."),
}
PACKAGE = ".agents/skills/skillopt-target/SKILL.md"


async def test_each_subset_is_a_package_of_its_own(tmp_path: Path) -> None:
    stand = Stand(tmp_path / "stand").plan({"answer": "<answer>a1</answer>", "read": True})
    agent, env = stand.agent(), create_env("searchqa", Config(), {})
    item = Item("q1", {"question": "item 1 ?", "context": "[DOC] c", "answers": ["a1"]})
    texts: list[str] = []
    for draw, subset in enumerate([(), (0,), (1, 2), (0, 1, 2)]):
        skill = compose(BASE, EDITS, subset).skill
        rollout = await run_one(env, item, skill, agent, Call("rollout", draw))
        assert rollout.scored is not None and rollout.scored.hard == 1
        assert rollout.skill_hash == skill.hash and rollout.agent["skill_read"] is True
        texts.append(skill.text.strip())
    packages: list[Any] = [call["files"][PACKAGE] for call in stand.calls]
    stand.close()
    assert len(packages) == len(set(texts)) == 4
    for package, text in zip(packages, texts, strict=True):
        assert package.rstrip().endswith(text)
    assert "Count the header too." not in packages[3] and "Give digits only." in packages[3]
