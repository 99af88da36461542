"""The same items for an agent program: task, instructions and images as files, no gold value in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.agents.workspace import build_workspace
from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.config import load_config
from skillopt.core.skill import Skill
from skillopt.engine.run.targets import check_target
from skillopt.envs.registry import create_env, settings_schemas

from ..conftest import Config

ROOT = Path(__file__).parents[3]
NAMES = ("babyvision", "docvqa", "livemathematicianbench", "mathverse", "mmrb", "sealqa")
AGENTS = ("codex", "claude_code", "copilot")


@pytest.mark.parametrize("name", NAMES)
def test_an_item_as_a_workspace(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    place = api.get(name, Request(output=tmp_path / "set"), sample=True).directory
    env = create_env(name, Config(name, split_mode="split_dir", split_dir=str(place)), {})
    item = env.load().test[0]
    workspace = build_workspace(env.messages(item, ""), Skill("# Skill\nLook twice."), "native")
    images = [content for path, content in workspace.files.items() if path.startswith("attachments/")]
    stated = item.data.get("image_paths") or [path for path in [item.data.get("image_path")] if path]
    assert images == [(tmp_path / path).read_bytes() for path in stated]
    assert ("ATTACHMENTS.md" in workspace.files) is bool(stated)
    assert "Look twice." in workspace.package and str(item.data["question"])[:12] in workspace.task
    if not item.data.get("options") and not item.data.get("choices") and name != "sealqa":
        assert not any(len(gold) > 3 and gold in workspace.task for gold in env.golds(item))


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_variants_pass_the_checks(name: str) -> None:
    schemas = settings_schemas()
    for agent in AGENTS:
        config = load_config(ROOT / f"configs/{name}/{agent}.yaml", environ={}, env_schemas=schemas).config
        assert config.model.target_backend == f"{agent}_exec" and check_target(config) == []
        assert config.env.split_dir == f"data/{name}_split"


@pytest.mark.parametrize("name", NAMES)
def test_initial_skills_and_failure_types_are_there(name: str) -> None:
    folder = ROOT / "skillopt/envs" / name
    skill = (folder / "skills/initial.md").read_text()
    assert skill.startswith("# ") and 250 < len(skill) < 1_100
    error = (folder / "prompts/analyst_error.md").read_text()
    types = {
        "babyvision": ["visual_detail_miss", "option_mismatch", "instruction_slip", "answer_granularity"],
        "docvqa": ["evidence_miss", "near_match_confusion", "normalization_error", "reading_error"],
        "livemathematicianbench": ["quantifier_miss", "strength_mismatch", "condition_miss", "option_confusion"],
        "mathverse": ["diagram_underuse", "constraint_drop", "option_confusion", "format_miss"],
        "mmrb": ["image_reference", "cross_image_relation"],
        "sealqa": ["evidence_conflict", "staleness"],
    }[name]
    assert all(f"- `{kind}`:" in error for kind in [*types, "other"])
    env = create_env(name, Config(name), {})
    assert env.prompt("analyst_error") == error
    assert json.dumps(env.prompt("analyst_success"))
