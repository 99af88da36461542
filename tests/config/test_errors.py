"""What is refused, in one line that names key, value, place and the nearest valid name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import ConfigError

from .conftest import Load
from .standins import SCHEMAS


def refused(load: Load, *args: object, **kwargs: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("train: {batchsize: 4}", ["unknown key train.batchsize", "config.yaml:2", "nearest: train.batch_size"]),
        ("model: {optimiser: x}", ["unknown key model.optimiser", "nearest: model.optimizer"]),
        ("gradient: {minibatchsize: 1}", ["nearest: gradient.minibatch_size"]),
        ("optimizer: {edit_budget: 1}", ["unknown key optimizer.edit_budget", "nearest: optimizer.learning_rate"]),
        ("evaluation: {usegate: 1}", ["nearest: evaluation.use_gate"]),
        ("env: {promt_template: x}", ["unknown key env.promt_template", "nearest: env.prompt_template"]),
        (
            "env: {context_chars: 1}",
            ["unknown key env.context_chars", "the environment rich declares: prompt_template"],
        ),
        ("budget: {max_dollars: 1}", ["unknown key budget.max_dollars"]),
        ("trian: {batch_size: 1}", ["unknown key trian", "nearest: train"]),
        ("batchsize: 4", ["unknown key batchsize", "nearest: batch_size"]),
        ("train: 4", ["train", "config.yaml:2", "expected a section"]),
        ("train: {batch_size: 0}", ["train.batch_size=0", "config.yaml:2", "greater than or equal to 1"]),
        ("train: {batch_size: true}", ["train.batch_size=true", "boolean"]),
        ("train: {batch_size: many}", ["train.batch_size=many", "valid integer"]),
        ("gradient: {merge_batch_size: 1}", ["gradient.merge_batch_size=1", "greater than or equal to 2"]),
        ("evaluation: {gate_metric: sofd}", ["evaluation.gate_metric=sofd", "nearest: soft"]),
        ("evaluation: {gate_mixed_weight: 1.5}", ["evaluation.gate_mixed_weight=1.5", "less than or equal to 1"]),
        ("optimizer: {lr_scheduler: cosin}", ["optimizer.lr_scheduler=cosin", "nearest: cosine"]),
        ("env: {split_ratio: 2:0:7}", ["env.split_ratio=2:0:7", "positive integers"]),
        ("env: {split_mode: dir}", ["env.split_mode=dir"]),
        ("model: {reasoning_effort: huge}", ["model.reasoning_effort=huge"]),
        (
            "model: {target_backend: locl}",
            ["model.target_backend=locl", "unknown backend, nearest: local", "available:"],
        ),
        ("env: {fields: 3}", ["env.fields=3"]),
        ("train: {seed: 1, seed: 2}", ["config.yaml:2", "train.seed stands twice"]),
        ("seed: 1\nseed: 2", ["config.yaml:3", "seed stands twice (first in line 2)"]),
        ("train: {seed: [1", ["config.yaml:", "not valid YAML"]),
        (f"train:\n  seed: {'1' * 5_000}", ["config.yaml:3:", "a whole number of 5,000 characters"]),
        (f"train: {'[' * 5_000}", ["config.yaml", "nested too deeply"]),
        (
            "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
            ["config.yaml:1:1:", "more than 100,000 values, with its anchors written out"],
        ),
        (
            "a0: &a0 {b: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)),
            ["more than 100,000 values, with its anchors written out"],
        ),
        ("train: \x00", ["config.yaml", "not valid YAML"]),
        ("train:\n  seed: 1\n   batch_size: 2", ["config.yaml:4:", "not valid YAML"]),
        ("1: 2", ["the key 1 is not text"]),
        ("env: &a {scorer: *a}", ["config.yaml:2", "the anchor contains itself"]),
        ("budget: {max_usd: .inf}", ["budget.max_usd=inf", "finite number"]),
        ("budget: {max_usd: .nan}", ["budget.max_usd=nan"]),
    ],
)
def test_files(load: Load, content: str, says: list[str]) -> None:
    text = refused(load, content)
    for part in says:
        assert part in text


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--batchsize", "4"], ["unknown flag --batchsize", "nearest: batch_size"]),
        (["--cfg-options", "train.batchsize=4"], ["unknown key train.batchsize", "nearest: train.batch_size"]),
        (["trian.batch_size=4"], ["unknown key trian.batch_size", "nearest: train.batch_size"]),
        (["--context_chars", "4"], ["unknown key context_chars", "the environment rich declares"]),
        (["--optimizer", "x"], ["unknown flag --optimizer", "is a section"]),
        (["--batch_size"], ["--batch_size needs a value"]),
        (["--batch_size", "--seed", "1"], ["--batch_size needs a value"]),
        (["--cfg-options"], ["--cfg-options needs at least one key=value"]),
        (["--cfg-options", "--seed", "1"], ["--cfg-options needs at least one key=value"]),
        (["stray"], ["cannot read the argument 'stray'"]),
        (["=4"], ["cannot read the argument"]),
        (["--batch_size", "x"], ["train.batch_size=x (flag --batch_size)", "valid integer"]),
        (["--use_gate", "maybe"], ["evaluation.use_gate=maybe (flag --use_gate): expected true or false"]),
        (["env.scorer={a: ["], ["env.scorer", "not valid YAML"]),
        (["env.scorer=exact"], ["env.scorer=exact"]),
        (["train.seed.x=1"], ["unknown key train.seed.x"]),
    ],
)
def test_command_lines(load: Load, argv: list[str], says: list[str]) -> None:
    text = refused(load, "", argv)
    for part in says:
        assert part in text


@pytest.mark.parametrize("backend", ["cursor_exec"])
def test_what_this_version_lacks_is_refused(load: Load, backend: str) -> None:
    text = refused(load, f"model: {{target_backend: {backend}}}")
    assert f"model.target_backend={backend}" in text and "not available in this version" in text


FLAGS = re.findall(
    r"\w+",
    """
env backend optimizer_model target_model optimizer_backend target_backend reasoning_effort rewrite_reasoning_effort
rewrite_max_completion_tokens azure_endpoint azure_api_version azure_api_key azure_openai_endpoint
optimizer_azure_openai_api_version target_azure_openai_api_key azure_openai_auth_mode azure_openai_ad_scope
target_azure_openai_managed_identity_client_id qwen_chat_base_url optimizer_qwen_chat_api_key qwen_chat_temperature
target_qwen_chat_timeout_seconds qwen_chat_max_tokens qwen_chat_enable_thinking student_qwen_chat_thinking_mode
minimax_region minimax_base_url minimax_api_key minimax_model minimax_temperature minimax_max_tokens
minimax_enable_thinking teacher_minimax_base_url codex_exec_path codex_exec_sandbox codex_exec_profile
codex_exec_full_auto codex_exec_reasoning_effort codex_exec_use_sdk codex_exec_network_access codex_exec_web_search
codex_exec_approval_policy claude_code_exec_path claude_code_exec_profile claude_code_exec_use_sdk
claude_code_exec_effort claude_code_exec_max_thinking_tokens cursor_exec_path cursor_exec_sandbox copilot_exec_path
copilot_exec_home copilot_exec_allow_all_tools copilot_chat_optimizer_model copilot_chat_target_model
copilot_chat_timeout codex_trace_to_optimizer codex_trace_to_teacher skill_init num_epochs train_size
steps_per_epoch batch_size accumulation seed edit_budget min_edit_budget lr_scheduler lr_control_mode
merge_batch_size max_analyst_rounds sel_env_num test_env_num eval_test use_gate max_steps max_api_workers
analyst_workers failure_only minibatch_size skill_update_mode use_slow_update slow_update_samples
longitudinal_pair_policy use_meta_skill use_skill_aware_reflection skill_aware_appendix_source
skill_aware_consolidate_threshold data_path split_mode split_ratio split_seed split_dir split_output_dir data_root
max_turns workers limit shuffle_choices use_theorem use_sketch image_detail judge_model judge_max_completion_tokens
judge_retries out_root mode teacher_model student_model teacher_backend student_backend use_deep_reflect
deep_reflect_failures deep_reflect_successes use_meta_reflect meta_edit_budget learning_rate min_learning_rate
gate_metric gate_mixed_weight slow_update_gate_with_selection meta_learning_rate use_semantic_density
semantic_density_weight leading_words gate_rule coverage_floor repeats claude_chat_route
skill_aware_gate_with_selection insert_after_fallback exec_timeout max_completion_tokens
""",
)


def test_every_published_flag_is_known() -> None:
    for flag in FLAGS:
        assert parse_overrides([f"--{flag}", "x"], SCHEMAS).entries, flag


def test_keys_of_environments_to_come_are_refused(load: Load) -> None:
    text = refused(load, "env: {search_mode: offline}")
    assert "env.search_mode" in text and "belongs to officeqa, not available in this version" in text


def test_off_is_accepted_in_silence(load: Load) -> None:
    resolved = load(
        "optimizer: {use_slow_update: false, use_meta_skill: no, use_meta_reflect: off}\nuse_deep_reflect: 0\n"
        "model: {azure_openai_endpoint: '', qwen_chat_base_url: '', codex_exec_use_sdk: null}\n",
        ["--use_semantic_density", "false"],
    )
    assert resolved.notices == ()


def test_settings_of_missing_mechanisms_are_told_in_one_line(load: Load) -> None:
    resolved = load("model: {cursor_exec_path: c, cursor_exec_sandbox: x}")
    assert resolved.notices == ("no effect in this version: model.cursor_exec_path, model.cursor_exec_sandbox",)


def test_retired_keys_warn(load: Load) -> None:
    notices = load("train: {steps_per_epoch: 9}", ["--max_analyst_rounds", "3"]).notices
    assert any("train.steps_per_epoch" in n and "computed" in n for n in notices)
    assert any("gradient.max_analyst_rounds (flag --max_analyst_rounds)" in n and "retired" in n for n in notices)


def test_the_environment_must_be_named(load: Load) -> None:
    assert "available: plain, rich" in refused(load, env=None)
    assert "unknown environment, nearest: plain" in refused(load, {"env": {"name": "plane"}}, env=None)
    assert "env.name=alfworld" in refused(load, {"env": {"name": "alfworld"}}, env=None)
    assert "not available in this version" in refused(load, argv=["--env", "docvqa"], env=None)


def test_bases(tmp_path: Path) -> None:
    def load(name: str) -> None:
        load_config(tmp_path / name, environ={}, env_schemas=SCHEMAS)

    (tmp_path / "a.yaml").write_text("_base_: sub/b.yaml\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.yaml").write_text("_base_: ../a.yaml\n")
    with pytest.raises(ConfigError, match=r"circle: .*a\.yaml -> .*b\.yaml -> .*a\.yaml"):
        load("a.yaml")
    (tmp_path / "sub/b.yaml").write_text("_base_: c.yaml\n")
    with pytest.raises(ConfigError, match=r"_base_=c\.yaml .*b\.yaml:1\): there is no file .*c\.yaml"):
        load("a.yaml")
    (tmp_path / "sub/b.yaml").write_text("_base_: [c.yaml]\n")
    with pytest.raises(ConfigError, match="expected the path of one file"):
        load("a.yaml")
    with pytest.raises(ConfigError, match=r"cannot read the configuration file .*none\.yaml: No such file"):
        load("none.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(ConfigError, match="holds keys and values, not list"):
        load("list.yaml")
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"env\.name is missing"):
        load("empty.yaml")


def test_a_name_is_checked_before_its_value_is_read() -> None:
    with pytest.raises(ConfigError, match="unknown flag --batchsize"):
        parse_overrides(["--batchsize"], SCHEMAS)
