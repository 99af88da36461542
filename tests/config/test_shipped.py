"""Every shipped file loads and says what it should; the base file is the single source of defaults."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillopt.config import Resolved, load_config, parse_overrides, render_dry_run
from skillopt.config.sources.environment import known_variables
from skillopt.config.table import shared_specs
from skillopt.config.unsupported_keys import NOT_BUILT

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "configs").rglob("*.yaml"))
ABSTRACT = tuple(path for path in SHIPPED if path.startswith(("configs/_base_/", "configs/features/")))
"""Files that name no environment, because they are inherited or combined with a flag."""


def load(path: str, *argv: str, environ: dict[str, str] | None = None) -> Resolved:
    registry = pytest.importorskip("skillopt.envs.registry")
    schemas = registry.settings_schemas()
    return load_config(
        ROOT / path, overrides=parse_overrides(argv, schemas), environ=environ or {}, env_schemas=schemas
    )


@pytest.mark.cases(30)
@pytest.mark.parametrize("path", SHIPPED)
def test_loads_without_a_notice(path: str) -> None:
    resolved = load(path, *(["--env", "searchqa"] if path in ABSTRACT else []))
    assert resolved.notices == ()
    assert render_dry_run(resolved)
    scripted = load(path, "--backend", "scripted", "--env", resolved.config.env.name).config.model
    assert (scripted.optimizer, scripted.target) == ("scripted", "scripted")


def test_the_base_file_is_the_schema() -> None:
    content: dict[str, Any] = yaml.safe_load((ROOT / "configs/_base_/default.yaml").read_text())
    written = {f"{section}.{name}": value for section, keys in content.items() for name, value in keys.items()}
    assert written == {spec.path: spec.default for spec in shared_specs() if not spec.secret}


def test_every_key_of_the_base_file_has_a_comment() -> None:
    lines = (ROOT / "configs/_base_/default.yaml").read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r"  \w+:", line):
            assert before.lstrip().startswith("#"), line


def test_published_defaults() -> None:
    config = load("configs/searchqa/default.yaml").config
    assert (config.train.num_epochs, config.train.batch_size, config.train.seed) == (4, 40, 42)
    assert (config.gradient.minibatch_size, config.gradient.merge_batch_size, config.gradient.analyst_workers) == (
        8,
        8,
        16,
    )
    assert (config.optimizer.learning_rate, config.optimizer.min_learning_rate) == (4, 2)
    assert (config.optimizer.lr_scheduler, config.optimizer.lr_control_mode) == ("cosine", "fixed")
    assert (config.train.train_size, config.env.workers, config.env.max_turns) == (400, 24, 1)
    assert (config.env.split_mode, config.env.split_dir) == ("split_dir", "data/searchqa_split")
    assert (config.env.max_completion_tokens, config.env.exec_timeout) == (16384, 120)
    assert (config.model.optimizer, config.model.target) == ("gpt-5.5", "gpt-5.5")
    assert (ROOT / config.env.skill_init).is_file()


def test_soft_gate() -> None:
    evaluation = load("configs/features/soft_gate.yaml", "--env", "searchqa").config.evaluation
    assert (evaluation.gate_metric, evaluation.gate_mixed_weight) == ("soft", 0.5)


@pytest.mark.parametrize("path", ["configs/demo/default.yaml", "configs/searchqa/example.yaml"])
def test_the_examples_need_no_key(path: str) -> None:
    model = load(path).config.model
    assert (model.optimizer_backend, model.target_backend) == ("local", "local")


DOCUMENTED = [
    "--split_dir data/searchqa_split",
    "--split_dir data/searchqa_split --optimizer_model gpt-5.5 --target_model gpt-5.5",
    "--cfg-options model.teacher_backend=openai_chat train.batch_size=40 optimizer.learning_rate=4",
    "--teacher_model gpt-5.5 --student_model gpt-5.5 --reasoning_effort medium",
    "--cfg-options model.teacher_backend=openai_chat model.student_backend=codex_exec train.batch_size=40"
    " optimizer.learning_rate=4",
    "--teacher_backend openai_chat --student_backend codex_exec --teacher_model gpt-5.5 --student_model gpt-5.5-codex"
    " --use_deep_reflect true --skill_update_mode rewrite_from_suggestions",
    "optimizer.learning_rate=16 optimizer.lr_scheduler=linear gradient.analyst_workers=8",
    "--split_mode ratio --data_path /path/to/searchqa_data.json",
    "--split_mode split_dir --split_dir /path/to/searchqa_split",
]


@pytest.mark.parametrize("line", DOCUMENTED)
def test_documented_command_lines(line: str) -> None:
    assert load("configs/searchqa/default.yaml", *line.split())


def test_the_example_variables_work_as_they_stand() -> None:
    text = (ROOT / ".env.example").read_text()
    names = re.findall(r"export (\w+)=", text)
    assert set(names) <= set(known_variables())
    environ = dict(re.findall(r"^export (\w+)=(\S*)$", text, flags=re.MULTILINE))
    model = load("configs/searchqa/default.yaml", environ=environ).config.model
    assert (model.backend, model.optimizer, model.target) == ("claude_chat", *["claude-sonnet-4-6"] * 2)


def test_nothing_is_both_built_and_missing() -> None:
    names = {name for spec in shared_specs() for name in (spec.path, *spec.flats)}
    assert not names & set(NOT_BUILT.keys)
    paths = {spec.path for spec in shared_specs()}
    assert set(NOT_BUILT.values) <= paths
