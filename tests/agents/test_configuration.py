"""Every key of an agent target, by file, flag and environment, read in the command line that would run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from skillopt.config import Config, load_config, parse_overrides, role_settings
from skillopt.config.backends import AGENTS
from skillopt.core.errors import ConfigError
from skillopt.engine.run.targets import agent_settings, check_target, reading_notices, readings, with_tools
from skillopt.envs.jsonl.settings import JsonlSettings
from skillopt.envs.searchqa.adapter import SearchQASettings
from skillopt.harnesses.job import Job
from skillopt.harnesses.launch import Launch
from skillopt.store.journal import Journal, Recorded

Load = Callable[..., Config]
HOME = "/home/user"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def run(content: Mapping[str, Any], argv: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Config:
        path = tmp_path / "config.yaml"
        whole = {"env": {"name": "jsonl", "prompt_template": "{{ question }}"}, **content}
        path.write_text(yaml.safe_dump(whole))
        return load_config(
            path, overrides=parse_overrides(argv), environ=environ or {}, env_schemas={"jsonl": JsonlSettings}
        ).config

    return run


def launched(config: Config, tmp_path: Path) -> Launch:
    """What would run for this configuration."""
    settings = agent_settings(config, role_settings(config.model, "target"), {"HOME": HOME, "PATH": "/bin"}, None)
    return settings.cli.launch(
        Job(
            executable=settings.path or settings.cli.program,
            prompt="hello",
            workspace=tmp_path / "work",
            home=tmp_path / "home",
            environ={},
            model=settings.model,
            endpoint=settings.endpoint,
            api_key=settings.api_key,
            login=settings.login,
        )
    )


ROUTES = [
    # backend, key, environment variables, flag or alias, value, what the command line then holds
    ("codex_exec", "codex_exec_path", ("CODEX_EXEC_PATH", "CODEX_CLI_BIN", "CODEX_PATH"), "codex_bin", "/x/codex",
     "/x/codex"),
    ("codex_exec", "codex_exec_sandbox", ("CODEX_EXEC_SANDBOX", "CODEX_SANDBOX_MODE", "CODEX_SANDBOX"), "sandbox",
     "read-only", "--sandbox read-only"),
    ("codex_exec", "codex_exec_profile", ("CODEX_EXEC_PROFILE", "CODEX_PROFILE"), "codex_exec_profile", "mine",
     "--profile mine"),
    ("codex_exec", "codex_exec_reasoning_effort", ("CODEX_EXEC_REASONING_EFFORT",), "codex_exec_reasoning_effort",
     "low", 'model_reasoning_effort="low"'),
    ("codex_exec", "codex_exec_network_access", ("CODEX_EXEC_NETWORK_ACCESS",), "codex_exec_network_access", "true",
     "sandbox_workspace_write.network_access=true"),
    ("codex_exec", "codex_exec_web_search", ("CODEX_EXEC_WEB_SEARCH",), "codex_exec_web_search", "true",
     'web_search="live"'),
    ("codex_exec", "codex_exec_approval_policy", ("CODEX_EXEC_APPROVAL_POLICY",), "codex_exec_approval_policy",
     "on-request", 'approval_policy="on-request"'),
    ("codex_exec", "exec_base_url", ("EXEC_BASE_URL",), "exec_base_url", "http://h:1/v1", 'base_url="http://h:1/v1"'),
    ("codex_exec", "target", ("TARGET_DEPLOYMENT", "STUDENT_DEPLOYMENT"), "target_model", "gpt-9", "-m gpt-9"),
    ("claude_code_exec", "claude_code_exec_path", ("CLAUDE_CODE_EXEC_PATH",), "claude_code_exec_path", "/x/claude",
     "/x/claude"),
    ("claude_code_exec", "claude_code_exec_effort", ("CLAUDE_CODE_EXEC_EFFORT",), "claude_code_exec_effort", "xhigh",
     "--effort max"),
    ("claude_code_exec", "claude_code_exec_max_thinking_tokens", ("CLAUDE_CODE_EXEC_MAX_THINKING_TOKENS",),
     "claude_code_exec_max_thinking_tokens", "77", "--max-thinking-tokens 77"),
    ("copilot_exec", "copilot_exec_path", ("COPILOT_EXEC_PATH",), "copilot_exec_path", "/x/copilot", "/x/copilot"),
    ("copilot_exec", "copilot_exec_allow_all_tools", ("COPILOT_EXEC_ALLOW_ALL_TOOLS",), "copilot_exec_allow_all_tools",
     "true", "--allow-all "),
    ("opencode_exec", "opencode_exec_path", (), "opencode_exec_path", "/x/opencode", "/x/opencode"),
    ("qwen_exec", "qwen_exec_path", (), "qwen_exec_path", "/x/qwen", "/x/qwen"),
    ("gemini_exec", "gemini_exec_path", (), "gemini_exec_path", "/x/gemini", "/x/gemini"),
    ("pi_exec", "pi_exec_path", (), "pi_exec_path", "/x/pi", "/x/pi"),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "key", "variables", "flag", "value", "seen"), ROUTES, ids=[r[1] for r in ROUTES])
def test_every_key_reaches_the_command_line_by_every_route(
    load: Load, tmp_path: Path, backend: str, key: str, variables: tuple[str, ...], flag: str, value: str, seen: str
) -> None:
    base = {"target_backend": backend, **({} if key == "target" else {"target": "some-model"})}
    plain = " ".join(launched(load({"model": base}), tmp_path).argv) + " "
    assert seen not in plain
    configured = [load({"model": {**base, key: value}}), load({"model": base}, [f"--{flag}", value])]
    configured += [load({"model": base}, [f"model.{key}={value}"])]
    configured += [load({"model": base}, environ={variable: value}) for variable in variables]
    for config in configured:
        assert seen in " ".join(launched(config, tmp_path).argv) + " "


def test_keys_go_only_to_their_own_endpoint(load: Load, tmp_path: Path) -> None:
    ambient = {"OPENAI_API_KEY": "sk-openai-1", "ANTHROPIC_API_KEY": "sk-ant-1", "EXEC_API_KEY": "sk-exec-1"}

    def env(backend: str, **model: str) -> str:
        config = load({"model": {"target_backend": backend, "target": "m", **model}}, environ=ambient)
        launch = launched(config, tmp_path)
        return " ".join([*launch.env.values(), *launch.files.values()])

    assert "sk-openai-1" in env("codex_exec")
    assert "sk-ant-1" in env("claude_code_exec")
    for backend in AGENTS:
        own = env(backend, exec_base_url="http://127.0.0.1:1/v1")
        assert "sk-exec-1" in own
        assert "sk-openai-1" not in own
        assert "sk-ant-1" not in own
        assert "sk-exec-1" not in env(backend)
    assert "sk-openai-1" not in env("codex_exec", openai_base_url="http://127.0.0.1:2/v1")
    gateway = env("claude_code_exec", anthropic_base_url="http://127.0.0.1:3")
    assert "http://127.0.0.1:3" in gateway


def test_the_login_is_used_only_without_a_key(load: Load) -> None:
    def login(environ: Mapping[str, str], **model: str) -> Path | None:
        config = load({"model": {"target_backend": "codex_exec", **model}}, environ=environ)
        return agent_settings(config, role_settings(config.model, "target"), {"HOME": HOME}, None).login

    assert login({}) == Path(HOME)
    assert login({"OPENAI_API_KEY": "sk-1"}) is None
    assert login({}, exec_base_url="http://127.0.0.1:1/v1") is None


def test_shared_settings_reach_the_agent(load: Load, tmp_path: Path) -> None:
    config = load(
        {"model": {"target_backend": "codex_exec", "exec_skill_delivery": "prompt", "exec_keep_workspaces": True}},
        ["--codex_trace_to_teacher", "false"],
        {"EXEC_EMPTY_RESPONSE_RETRIES": "3"},
    )
    settings = agent_settings(config, role_settings(config.model, "target"), {}, tmp_path / "kept")
    assert settings.delivery == "prompt"
    assert settings.keep == tmp_path / "kept"
    assert settings.trace is False
    assert settings.empty_retries == 3


@pytest.mark.parametrize("backend", [name for name in AGENTS if name != "codex_exec"])
def test_an_agent_cli_is_no_optimizer(load: Load, backend: str) -> None:
    config = load({"model": {"optimizer_backend": backend}})
    with pytest.raises(ConfigError, match="only be a target"):
        role_settings(config.model, "optimizer")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"model": {"target_backend": "codex_exec", "codex_exec_use_sdk": "sdk"}}, "codex_exec_use_sdk=sdk"),
        ({"model": {"target_backend": "claude_code_exec", "claude_code_exec_use_sdk": "sdk"}}, "use_sdk=sdk"),
        ({"model": {"target_backend": "copilot_exec", "exec_base_url": "http://h/v1"}}, "needs a model"),
    ],
)
def test_what_cannot_be_done_is_refused(load: Load, content: dict[str, Any], words: str) -> None:
    config = load(content)
    with pytest.raises(ConfigError, match=words):
        agent_settings(config, role_settings(config.model, "target"), {}, None)


def test_settings_that_an_agent_cannot_honour(load: Load) -> None:
    env = {"name": "jsonl", "prompt_template": "{{ question }}", "max_turns": 2}
    for model in ({"target_backend": "codex_exec"}, {"target_backend": "scripted", "target_agent": "tool_loop"}):
        with pytest.raises(ConfigError, match="max_turns"):
            check_target(load({"env": env, "model": model}))
    with pytest.raises(ConfigError, match="is an agent already"):
        check_target(load({"model": {"target_backend": "codex_exec", "target_agent": "tool_loop"}}))
    warm = {**env, "max_turns": 1, "temperature": 0.5}
    assert "temperature has no effect" in check_target(load({"env": warm, "model": {"target_backend": "pi_exec"}}))[0]
    assert check_target(load({"model": {"target_backend": "scripted"}})) == []


def test_the_tool_loop_is_wrapped_around_a_chat_target_only(load: Load, tmp_path: Path) -> None:
    chat: Any = SimpleNamespace(model="m")
    journal = Journal.open(tmp_path / "journal.sqlite3")
    plain = load({"model": {"target_backend": "scripted"}})
    assert with_tools(plain, chat, journal, {}) is None
    looped = load({"model": {"target_backend": "scripted", "target_agent": "tool_loop", "tool_loop_max_turns": 3}})
    made = with_tools(looped, chat, journal, {})
    assert made is not None
    assert made.model == "m"
    journal.close()


def test_a_run_says_so_when_no_agent_ever_read_the_skill(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite3")
    assert reading_notices(readings(journal)) == []

    def entry(key: str, read: bool, stage: str = "rollout") -> None:
        journal.put_now(key, Recorded(value={"notes": {"skill_read": read}}, kind="agent", stage=stage))

    entry("p", True, "probe")
    entry("a", False)
    entry("b", False, "gate")
    (notice,) = reading_notices(readings(journal))
    assert "the skill was read in 0 of 2 rollouts" in notice
    entry("c", True)
    (notice,) = reading_notices(readings(journal))
    assert "in 1 of 3 rollouts: the scores say little" in notice
    entry("d", True)
    assert reading_notices(readings(journal)) == []
    journal.close()


@pytest.mark.parametrize(
    ("name", "backend"), [("codex", "codex_exec"), ("claude_code", "claude_code_exec"), ("copilot", "copilot_exec")]
)
def test_the_shipped_variants_load_and_pass_the_checks(name: str, backend: str) -> None:
    path = ROOT / "configs" / "searchqa" / f"{name}.yaml"
    config = load_config(path, environ={}, env_schemas={"searchqa": SearchQASettings}).config
    assert (config.model.target_backend, config.model.optimizer_backend) == (backend, "openai_chat")
    assert check_target(config) == []
    assert agent_settings(config, role_settings(config.model, "target"), {"HOME": HOME}, None).backend == backend
