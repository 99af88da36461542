"""The named fix fits the cause: for each cause, way to a model and role, what has to be said and what may not be."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import SecretStr

from skillopt.config.backends import AGENTS, AVAILABLE
from skillopt.config.roles import RoleName, RoleSettings
from skillopt.core.errors import Cause
from skillopt.model.advice import advice

KEY = SecretStr("sk-" + "0123456789abcdef" * 2)
FAR, NEAR, AZURE = "https://far.example/v1", "http://127.0.0.1:8000/v1", "https://me.openai.azure.com"

WAYS: dict[str, dict[str, object]] = {
    "openai": {"backend": "openai_chat", "base_url": "https://api.openai.com/v1"},
    "azure by key": {"backend": "openai_chat", "base_url": AZURE, "auth_mode": "api_key"},
    "azure by az": {"backend": "openai_chat", "base_url": AZURE, "auth_mode": "azure_cli"},
    "azure by identity": {"backend": "openai_chat", "base_url": AZURE, "auth_mode": "managed_identity"},
    "azure as compatible": {"backend": "openai_chat", "base_url": FAR, "auth_mode": "openai_compatible"},
    "compatible": {"backend": "openai_compatible", "base_url": NEAR},
    "compatible at openai": {"backend": "openai_compatible", "base_url": "https://api.openai.com/v1"},
    "qwen": {"backend": "qwen_chat", "base_url": NEAR},
    "minimax": {"backend": "minimax_chat", "base_url": FAR},
    "claude by key": {"backend": "claude_chat", "base_url": "https://api.anthropic.com", "route": "api"},
    "claude by login": {"backend": "claude_chat", "route": "cli"},
    "local": {"backend": "local"},
    "local elsewhere": {"backend": "local", "base_url": NEAR},
    "copilot chat": {"backend": "copilot_chat"},
    "plugin": {"backend": "my_plugin"},
    **{f"{name} by login": {"backend": name} for name in AGENTS},
    **{f"{name} at an endpoint": {"backend": name, "base_url": NEAR} for name in AGENTS},
    "codex by key": {"backend": "codex_exec", "api_key": KEY},
    "claude code by key": {"backend": "claude_code_exec", "api_key": KEY},
}
SAYS: dict[tuple[str, str], str] = {
    ("openai", "key"): "OPENAI_API_KEY",
    ("openai", "address"): "model.openai_base_url",
    ("azure by key", "key"): "AZURE_OPENAI_API_KEY",
    ("azure by key", "address"): "deployment",
    ("azure by key", "model"): "deployment",
    ("azure by az", "key"): "az login",
    ("azure by identity", "key"): "identity",
    ("azure as compatible", "key"): "model.azure_openai_api_key",
    ("compatible", "key"): "model.openai_compatible_api_key",
    ("compatible", "unreachable"): "start the server at 127.0.0.1",
    ("compatible", "silent"): "model.openai_compatible_timeout_seconds",
    ("compatible at openai", "key"): "OPENAI_API_KEY",
    ("qwen", "address"): "model.qwen_chat_base_url",
    ("minimax", "key"): "MINIMAX_API_KEY",
    ("minimax", "unreachable"): "HTTPS_PROXY",
    ("claude by key", "address"): "without /v1",
    ("claude by key", "key"): "ANTHROPIC_API_KEY",
    ("claude by login", "key"): "run `claude` and log in, or set ANTHROPIC_API_KEY",
    ("local", "unreachable"): "skillopt model probe",
    ("local elsewhere", "unreachable"): "start the server at 127.0.0.1",
    ("copilot chat", "key"): "/login",
    ("codex_exec by login", "key"): "run `codex login`, or set OPENAI_API_KEY",
    ("codex_exec at an endpoint", "key"): "check model.exec_api_key",
    ("codex_exec at an endpoint", "request"): "the Responses API",
    ("claude_code_exec at an endpoint", "address"): "the Messages API",
    ("codex by key", "key"): "check OPENAI_API_KEY",
    ("opencode_exec by login", "key"): "opencode auth login",
    ("pi_exec by login", "key"): "/login",
    ("gemini_exec by login", "key"): "use an endpoint of your own",
    ("gemini_exec by login", "client"): "npm install -g @google/gemini-cli",
    ("qwen_exec by login", "unreachable"): "network",
}
ROLES: tuple[RoleName, ...] = ("target", "optimizer", "judge")


def role(way: str, name: RoleName = "target") -> RoleSettings:
    return RoleSettings(**{"role": name, "model": "some-model", **WAYS[way]})  # pyright: ignore[reportArgumentType]


def test_every_way_is_in_the_table() -> None:
    assert {str(way["backend"]) for way in WAYS.values()} >= {*AVAILABLE} - {"scripted"}


@pytest.mark.parametrize("cause", [cause for cause in get_args(Cause) if cause])
def test_advice_is_one_line_about_this_way_and_this_cause(cause: Cause) -> None:
    for way in WAYS:
        for name in ROLES:
            said = advice(cause, role(way, name))
            assert "\n" not in said and KEY.get_secret_value() not in said
            others = set(ROLES) - {name} - ({"optimizer"} if name == "judge" else set())
            assert not any(f"model.{other}_" in said or f"(model.{other})" in said for other in others), said
            if cause in ("busy", "unreachable", "silent", "broken", "certificate"):
                assert "model name" not in said and "API key" not in said, "the model and the key are not at fault"
            if cause in ("key", "busy", "credit"):
                assert "/v1" not in said, said
            if "azure" not in way:
                assert "AZURE" not in said and "deployment" not in said and "az login" not in said, said
            if way.startswith("azure by"):
                assert "usually" not in said and "with /v1" not in said, said
            if "claude" not in way:
                assert "ANTHROPIC" not in said and "`claude`" not in said, said
        assert cause in ("request", "client") or advice(cause, role(way)), f"something can be done: {way}"


@pytest.mark.parametrize(("way", "cause"), SAYS)
def test_what_the_table_says(way: str, cause: Cause) -> None:
    assert SAYS[way, cause] in advice(cause, role(way))


def test_an_unknown_cause_gets_no_advice_rather_than_a_wrong_one() -> None:
    assert {advice("", role(way)) for way in WAYS} == {""}
