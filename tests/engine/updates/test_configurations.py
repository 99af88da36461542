"""The configurations of the update modes, loaded as shipped and run; names, aliases and defaults of their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config import load_config, parse_overrides
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.testing.toy_task import write_data

FEATURES = Path(__file__).parents[3] / "configs/features"
SHIPPED = {
    "rewrite_from_suggestions": ("rewrite_from_suggestions", "fixed", "rewrite"),
    "full_rewrite_minibatch": ("full_rewrite_minibatch", "fixed", "merge"),
    "autonomous_lr": ("patch", "autonomous", "lr_autonomous"),
}


def load(path: Path, *argv: str):
    schemas = settings_schemas()
    return load_config(path, overrides=parse_overrides(argv, schemas), environ={}, env_schemas=schemas)


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", SHIPPED)
async def test_a_shipped_configuration_runs(name: str, tmp_path: Path) -> None:
    mode, control, stage = SHIPPED[name]
    data = write_data(tmp_path / "data")
    resolved = load(
        FEATURES / f"{name}.yaml", "--env", "jsonl", "--backend", "scripted", "env.split_mode=split_dir",
        f"env.split_dir={data}", "env.answer_field=answer", "env.prompt_template={{ question }}",
        "env.scorer={name: exact}", "train.batch_size=8", "gradient.minibatch_size=4", "train.num_epochs=2",
        f"env.out_root={tmp_path / 'run'}",
    )  # fmt: skip
    assert (resolved.config.optimizer.skill_update_mode, resolved.config.optimizer.lr_control_mode) == (mode, control)
    async with open_run_context(resolved, out_root=tmp_path / "run", emit=Events()) as context:
        result = await train(context)
        stages = {row.stage for row in context.journal.ledger()}
    assert result.stopped is None and stage in stages
    assert result.summary.total_steps == 4


@pytest.mark.parametrize(
    ("said", "meant"),
    [("edits", "patch"), ("rewrite", "rewrite_from_suggestions"), ("suggestions", "rewrite_from_suggestions"),
     ("rewrite_suggestions", "rewrite_from_suggestions"), ("full_rewrite", "full_rewrite_minibatch"),
     ("minibatch_full_rewrite", "full_rewrite_minibatch"), ("skill_rewrite_minibatch", "full_rewrite_minibatch")],
)  # fmt: skip
def test_spellings_of_the_update_mode(said: str, meant: str) -> None:
    base = FEATURES.parent / "_base_/default.yaml"
    for route in (f"optimizer.skill_update_mode={said}", f"skill_update_mode={said}"):
        assert load(base, "--env", "searchqa", route).config.optimizer.skill_update_mode == meant
    flagged = load(base, "--env", "searchqa", "--skill_update_mode", said)
    assert flagged.config.optimizer.skill_update_mode == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [("manual", "fixed"), ("scheduler", "fixed"), ("scheduled", "fixed"), ("auto", "autonomous"),
     ("optimizer", "autonomous"), ("off", "none"), ("no_lr", "none")],
)  # fmt: skip
def test_spellings_of_the_budget_control(said: str, meant: str) -> None:
    base = FEATURES.parent / "_base_/default.yaml"
    assert (
        load(base, "--env", "searchqa", f"optimizer.lr_control_mode={said}").config.optimizer.lr_control_mode == meant
    )


def test_defaults_and_flat_names_of_the_rewrite_call() -> None:
    base = FEATURES.parent / "_base_/default.yaml"
    model = load(base, "--env", "searchqa").config.model
    assert (model.rewrite_reasoning_effort, model.rewrite_max_completion_tokens) == ("", 64_000)
    given = ("--rewrite_reasoning_effort", "xhigh", "--rewrite_max_completion_tokens", "9000")
    model = load(base, "--env", "searchqa", *given).config.model
    assert (model.rewrite_reasoning_effort, model.rewrite_max_completion_tokens) == ("xhigh", 9_000)
