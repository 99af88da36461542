"""Golden tables: which layer wins, what the backend shorthand does, where models come from."""

from __future__ import annotations

import pytest

from skillopt.core.errors import ConfigError

from .conftest import Load

V = {"OPTIMIZER_BACKEND": "local"}


@pytest.mark.parametrize(
    ("base", "child", "environ", "argv", "value", "kind"),
    [
        ("", "", {}, [], "openai_chat", "default"),
        ("model: {optimizer_backend: scripted}", "", {}, [], "scripted", "file"),
        ("model: {optimizer_backend: scripted}", "optimizer_backend: local", {}, [], "local", "file"),
        ("optimizer_backend: scripted", "model: {teacher_backend: local}", {}, [], "local", "file"),
        ("model: {optimizer_backend: scripted}", "model: {optimizer_backend: ''}", {}, [], "scripted", "file"),
        ("", "model: {optimizer_backend: scripted}", V, [], "local", "environment"),
        ("", "model: {optimizer_backend: scripted}", {"OPTIMIZER_BACKEND": " "}, [], "scripted", "file"),
        ("", "", V, ["--optimizer_backend", "scripted"], "scripted", "flag"),
        ("", "", V, ["--teacher-backend=scripted"], "scripted", "flag"),
        ("", "", V, ["--backend", "scripted"], "scripted", "flag"),
        ("", "model: {backend: local}", {}, ["--optimizer_backend", "", "--backend="], "local", "file"),
        ("", "model: {backend: scripted}", V, [], "local", "environment"),
        ("", "model: {optimizer_backend: scripted}", {"REFLACT_MODEL_BACKEND": "local"}, [], "local", "environment"),
        ("model: {optimizer_backend: openai_chat}", "model: {backend: local}", {}, [], "local", "file"),
        ("", "model: {backend: local, optimizer_backend: openai_chat}", {}, [], "openai_chat", "file"),
        ("", "model: {backend: local, optimizer_backend: ''}", {}, [], "local", "file"),
        ("", "", {}, ["--backend", "local", "--optimizer_backend", "openai"], "openai_chat", "flag"),
        ("", "", {}, ["--optimizer_backend", "local", "optimizer_backend=scripted"], "local", "flag"),
        ("", "", {}, ["optimizer_backend=local", "--cfg-options", "teacher_backend=local"], "local", "flag"),
        ("", "", {}, ["optimizer_backend=local", "model.optimizer_backend=scripted"], "scripted", "flag"),
    ],
)  # fmt: skip
def test_precedence(
    load: Load, base: str, child: str, environ: dict[str, str], argv: list[str], value: str, kind: str
) -> None:
    resolved = load(child, argv, environ, base=base)
    assert (resolved.config.model.optimizer_backend, resolved.origins["model.optimizer_backend"].kind) == (value, kind)


@pytest.mark.parametrize(
    ("child", "environ", "argv", "model"),
    [
        ("", {}, [], "gpt-5.5"),
        ("", {}, ["--backend", "openai_compatible"], "gpt-4o-mini"),
        ("", {}, ["--backend", "local"], "qwen2.5-coder-1.5b"),
        ("", {}, ["--backend", "local", "--local_model", "m.gguf"], "m.gguf"),
        ("", {}, ["--backend", "scripted"], "scripted"),
        # Older files wrote the stock model out; a backend chosen above the file replaces it …
        ("model: {target: gpt-5.5}", {}, ["--backend", "local"], "qwen2.5-coder-1.5b"),
        ("model: {target: gpt-5.4}", {}, ["--target_backend", "compat"], "gpt-4o-mini"),
        # … and nothing that somebody asked for is replaced.
        ("model: {target: gpt-5.5, backend: compat}", {}, [], "gpt-5.5"),
        ("model: {target: mine}", {}, ["--backend", "compat"], "mine"),
        ("", {}, ["--backend", "compat", "--student_model", "gpt-5.5"], "gpt-5.5"),
        ("", {"TARGET_DEPLOYMENT": "gpt-5.5"}, ["--backend", "compat"], "gpt-5.5"),
        ("model: {target: mine}", {"OPENAI_COMPATIBLE_MODEL": "m"}, ["--backend", "compat"], "m"),
        ("", {"OPENAI_COMPATIBLE_MODEL": "m"}, [], "gpt-5.5"),
        ("", {"OPENAI_COMPATIBLE_MODEL": "m", "TARGET_OPENAI_COMPATIBLE_MODEL": "t"}, ["--backend", "compat"], "t"),
        ("", {"OPENAI_COMPATIBLE_MODEL": "m", "STUDENT_DEPLOYMENT": "t"}, ["--backend", "compat"], "t"),
        ("", {"OPENAI_COMPATIBLE_MODEL": "m"}, ["--backend", "compat", "--target_model", "t"], "t"),
    ],
)
def test_models(load: Load, child: str, environ: dict[str, str], argv: list[str], model: str) -> None:
    assert load(child, argv, environ).config.model.target == model


def test_a_replaced_model_is_told(load: Load) -> None:
    notices = load("model: {target: gpt-5.5}", ["--backend", "local"]).notices
    assert any("model.target: gpt-5.5" in n and "gives way to qwen2.5-coder-1.5b" in n for n in notices)


def test_origins_name_the_place(load: Load) -> None:
    resolved = load("train:\n  seed: 1\n  batch_size: 5\n", ["--num_epochs", "2"], {"TARGET_BACKEND": "local"})
    origins = {key: str(origin) for key, origin in resolved.origins.items()}
    assert origins["train.batch_size"].endswith("config.yaml:4")
    assert origins["train.num_epochs"] == "flag --num_epochs"
    assert origins["model.target_backend"] == "environment TARGET_BACKEND"
    assert origins["train.accumulation"] == "default"
    assert origins["model.target"] == "default of local"


@pytest.mark.parametrize(
    ("alias", "means"),
    [("openai", "openai_chat"), ("openai-compatible", "openai_compatible"), ("compat", "openai_compatible"),
     ("openai_compatible_chat", "openai_compatible"), ("LOCAL", "local"), ("azure", "openai_chat"),
     ("azure-openai", "openai_chat"), ("azure_openai", "openai_chat"), ("claude", "claude_chat"),
     ("anthropic", "claude_chat")],
)  # fmt: skip
def test_backend_aliases(load: Load, alias: str, means: str) -> None:
    model = load(argv=["--backend", alias]).config.model
    assert (model.backend, model.optimizer_backend, model.target_backend) == (means, means, means)


@pytest.mark.parametrize(
    ("name", "means"),
    [("cursor", "cursor_exec"), ("cursor_agent", "cursor_exec")],
)
def test_backends_to_come_are_named_and_refused(load: Load, name: str, means: str) -> None:
    with pytest.raises(ConfigError, match=f"backend={name} .*the backend {means} is not available in this version"):
        load(argv=["--backend", name])


@pytest.mark.parametrize(
    ("alias", "optimizer", "target", "model"),
    [("qwen", "openai_chat", "qwen_chat", "Qwen/Qwen3.5-4B"), ("minimax", "openai_chat", "minimax_chat", "MiniMax-M3"),
     ("claude", "claude_chat", "claude_chat", "claude-sonnet-4-6"),
     ("claude_code_exec", "openai_chat", "claude_code_exec", "claude-sonnet-4-6"),
     ("copilot_exec", "openai_chat", "copilot_exec", ""), ("codex", "codex_exec", "codex_exec", "gpt-5.5"),
     ("github_copilot", "copilot_chat", "copilot_chat", "")],
)  # fmt: skip
def test_shorthands_of_providers(load: Load, alias: str, optimizer: str, target: str, model: str) -> None:
    found = load("model: {target: gpt-5.5}", ["--backend", alias]).config.model
    assert (found.optimizer_backend, found.target_backend, found.target) == (optimizer, target, model)


def test_the_shorthand_says_what_the_roles_use(load: Load) -> None:
    assert load("model: {backend: scripted}", environ={"TARGET_BACKEND": "local"}).config.model.backend == ""


def test_both_spellings_in_one_layer_must_agree(load: Load) -> None:
    assert load("model: {teacher: a, optimizer: a}").config.model.optimizer == "a"
    for content, argv, environ in (
        ("model: {teacher: a, optimizer: b}", [], {}),
        ("model: {teacher: a}\noptimizer_model: b", [], {}),
        ("edit_budget: 1\nlearning_rate: 2", [], {}),
        ("", ["--teacher_model", "a", "model.optimizer=b"], {}),
        ("", [], {"TEACHER_BACKEND": "local", "OPTIMIZER_BACKEND": "scripted"}),
    ):
        with pytest.raises(ConfigError, match="given twice with different values"):
            load(content, argv, environ)
    assert load("model: {teacher: a}", base="model: {optimizer: b}").config.model.optimizer == "a"


def test_within_one_file_the_sectioned_key_wins(load: Load) -> None:
    for text in ("batch_size: 1\ntrain: {batch_size: 2}", "train: {batch_size: 2}\nbatch_size: 1"):
        assert load(text).config.train.batch_size == 2
    assert load("batch_size: 1", base="train: {batch_size: 2}").config.train.batch_size == 1


def test_maps_merge_over_files_and_are_replaced_by_flags(load: Load) -> None:
    def scorer(*argv: str) -> object:
        base = {"env": {"scorer": {"name": "numeric", "options": {"a": 1, "b": 2}}}}
        return load({"env": {"scorer": {"options": {"b": 3}}}}, argv, base=base).config.env_settings.scorer  # type: ignore[attr-defined]

    assert scorer() == {"name": "numeric", "options": {"a": 1, "b": 3}}
    assert scorer("env.scorer.options.a=7") == {"name": "numeric", "options": {"a": 7, "b": 3}}
    assert scorer("--scorer", "{name: exact}") == {"name": "exact"}
    assert scorer("--scorer={name: exact}", "env.scorer.x=[1, 2]") == {"name": "exact"}
    assert scorer("env.scorer={name: exact}", "env.scorer.x=[1, 2]") == {"name": "exact", "x": [1, 2]}


def test_a_map_with_another_name_replaces_the_one_below(load: Load) -> None:
    base = {"env": {"scorer": {"name": "numeric", "absolute": 1}}}
    settings = load({"env": {"scorer": {"name": "exact"}}}, base=base).config.env_settings
    assert settings.scorer == {"name": "exact"}  # type: ignore[attr-defined]


def test_env_name_and_the_section_env_coexist(load: Load) -> None:
    resolved = load({"env": {"name": "plain", "workers": 3, "context_chars": 9}}, env=None)
    assert (resolved.config.env.name, resolved.config.env.workers) == ("plain", 3)
    assert resolved.config.env_settings.context_chars == 9  # type: ignore[attr-defined]
    assert load("env: plain\nworkers: 3\ntrain: {seed: 1}", env=None).config.env.workers == 3
    assert load({"env": {"workers": 5}}, ["--env", "plain"]).config.env.workers == 5


def test_data_named_on_the_command_line_say_which_split_mode_is_meant(load: Load) -> None:
    content = {"env": {"split_mode": "ratio", "data_path": "all.json"}}
    resolved = load(content, ["--split_dir", "ready"])
    assert (resolved.config.env.split_mode, resolved.config.env.split_dir) == ("split_dir", "ready")
    assert any("env.split_mode is split_dir" in notice for notice in resolved.notices)
    both = load(content, ["--split_dir", "ready", "--split_mode", "ratio"])
    assert both.config.env.split_mode == "ratio"
