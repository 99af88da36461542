"""What a draft is made of, and what is left when a part of it goes; and pruning itself on a target with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillopt.config import load_config, parse_overrides
from skillopt.core.editing.edit import Edit
from skillopt.core.editing.regions import with_slow_update
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.prune import Pruned, prune
from skillopt.engine.measure import measure
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.envs.registry import settings_schemas
from skillopt.testing.toy_task import write_config, write_data

GOOD, ALSO, BAD = (Edit("append", content=c) for c in ("RULE 1: do.", "RULE 2: do.", "AVOID 3: never."))


async def pruned(tmp_path: Path, base: Skill, draft: Skill, edits: tuple[Edit, ...]) -> Pruned:
    data = write_data(tmp_path / "data", {"train": 64, "val": 16, "test": 8})
    changes: dict[str, Any] = {"model__backend": "scripted", "evaluation__gate_rule": "paired"}
    config = write_config(tmp_path / "c.yaml", data, **changes)
    overrides = parse_overrides([f"env.out_root={tmp_path / 'run'}"], settings_schemas())
    resolved = load_config(config, overrides=overrides, environ={}, env_schemas=settings_schemas())
    async with open_run_context(resolved, out_root=tmp_path / "run", emit=Events()) as context:
        known = await measure(context, draft, context.splits.train, stage="trial")
        return await prune(context, base, draft, edits, known, step=1)


async def test_a_harmful_edit_is_left_out_and_the_useful_ones_stay(tmp_path: Path) -> None:
    draft = Skill("RULE 3: do.\n\nRULE 1: do.\n\nAVOID 3: never.\n\nRULE 2: do.\n")
    result = await pruned(tmp_path, Skill("RULE 3: do.\n"), draft, (GOOD, BAD, ALSO))
    assert result.removed == (BAD,)
    assert result.edits == (GOOD, ALSO)
    assert result.skill.text == "RULE 3: do.\n\nRULE 1: do.\n\nRULE 2: do.\n"
    assert result.trial is not None and result.trial.passed


async def test_two_harmful_edits_go_together(tmp_path: Path) -> None:
    worse = Edit("append", content="AVOID 1: never.")
    draft = Skill("RULE 3: do.\n\nRULE 1: do.\n\nAVOID 3: never.\n\nAVOID 1: never.\n")
    result = await pruned(tmp_path, Skill("RULE 3: do.\n"), draft, (GOOD, BAD, worse))
    assert set(result.removed) == {BAD, worse}
    assert result.skill.text == "RULE 3: do.\n\nRULE 1: do.\n"


async def test_harmful_guidance_goes_and_the_edits_stay(tmp_path: Path) -> None:
    base = Skill("RULE 3: do.\n")
    draft = with_slow_update(Skill("RULE 3: do.\n\nRULE 1: do.\n"), "AVOID 3: never.")
    result = await pruned(tmp_path, base, draft, (GOOD,))
    assert result.skill.text == "RULE 3: do.\n\nRULE 1: do.\n"
    assert result.edits == (GOOD,)
    assert result.removed == (Edit("delete", target="AVOID 3: never."),)


@pytest.mark.parametrize("edits", [(GOOD,), (GOOD, ALSO)])
async def test_what_helps_is_left_alone(tmp_path: Path, edits: tuple[Edit, ...]) -> None:
    text = "".join(["RULE 3: do.\n", *(f"\n{e.content}\n" for e in edits)])
    result = await pruned(tmp_path, Skill("RULE 3: do.\n"), Skill(text), edits)
    assert result == Pruned(Skill(text), edits, rollouts=result.rollouts)


async def test_a_draft_that_something_else_made_is_left_alone(tmp_path: Path) -> None:
    draft = Skill("Written by hand.\n\nAVOID 3: never.\n")
    result = await pruned(tmp_path, Skill("RULE 3: do.\n"), draft, (GOOD, BAD))
    assert result == Pruned(draft, (GOOD, BAD))
