"""What is particular to a provider: failures inside a 200, cache marks, routes, keys that stay home, warnings."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillopt.config import load_config, role_settings
from skillopt.core.errors import ConfigError, ContextOverflow, FatalModelError, TransientModelError
from skillopt.model.client import Client
from skillopt.model.providers import anthropic_api, claude_chat
from skillopt.model.registry import create_backend
from skillopt.model.traffic.reply_warnings import REASONING_ONLY, TOOL_TEXT, symptoms
from skillopt.model.types import ChatReply, ChatRequest, Message
from tests.config.standins import SCHEMAS
from tests.model.model_support import ask
from tests.model.providers.contract.anthropic_protocol import MessagesProtocol
from tests.model.providers.contract.openai_protocol import ChatProtocol, MinimaxProtocol, VllmProtocol
from tests.model.providers.contract.server import KEY, MODEL, Fault, ProviderServer, Say

OPENAI, ANTHROPIC = "sk-proj-" + "a1b2c3d4" * 5, "sk-ant-api03-" + "a1b2c3d4" * 5


# --- MiniMax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "error", "overloaded"),
    [(1004, FatalModelError, None), (2049, FatalModelError, None), (1008, FatalModelError, None),
     (2013, FatalModelError, None), (1002, TransientModelError, True), (1000, TransientModelError, False),
     (1039, ContextOverflow, None)],
)  # fmt: skip
async def test_minimax_reports_failures_inside_a_200(
    code: int, error: type[Exception], overloaded: bool | None
) -> None:
    raw = json.dumps({"choices": None, "base_resp": {"status_code": code, "status_msg": f"said with {KEY}"}}).encode()
    async with ProviderServer(MinimaxProtocol(), lambda seen: Fault(raw=raw)) as server:
        backend = create_backend("minimax_chat", {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY})
        with pytest.raises(error, match=str(code)) as caught:
            await backend.complete(ask())
        await backend.aclose()
    assert type(caught.value) is error and KEY not in str(caught.value)
    assert overloaded is None or caught.value.overloaded is overloaded  # type: ignore[attr-defined]


async def test_minimax_success_carries_a_code_too() -> None:
    protocol = MinimaxProtocol()
    plain = protocol.reply
    protocol.reply = lambda say, cap: {**plain(say, cap), "base_resp": {"status_code": 0, "status_msg": ""}}  # type: ignore[method-assign]
    async with ProviderServer(protocol, lambda seen: Say("base_resp")) as server:
        backend = create_backend("minimax_chat", {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY})
        assert (await backend.complete(ask())).text == "base_resp"
        await backend.aclose()


# --- Qwen -------------------------------------------------------------------------------------------------------------


async def test_a_server_without_the_thinking_field_is_learnt_once() -> None:
    protocol = VllmProtocol()
    protocol.allowed = protocol.allowed - {"chat_template_kwargs"}  # type: ignore[misc]
    async with ProviderServer(protocol) as server:
        settings = {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY, "thinking": "disabled"}
        backend = create_backend("qwen_chat", settings)
        for text in ("one", "two"):
            await backend.complete(ask(text))
        assert len(server.refusals) == 1 and len(server.seen) == 2
        await backend.aclose()


# --- OpenAI -----------------------------------------------------------------------------------------------------------


async def test_a_model_that_only_the_other_api_serves_is_asked_there() -> None:
    words = "This model is only supported in v1/responses and not in v1/chat/completions."
    async with ProviderServer(ChatProtocol(), lambda seen: Fault(404, words)) as server:
        backend = create_backend("openai_chat", {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY})
        with pytest.raises(FatalModelError):
            await backend.complete(ask())
        assert server.paths == ["/v1/chat/completions", "/v1/responses"]
        await backend.aclose()


async def test_with_tools_the_effort_is_left_out() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    async with ProviderServer(ChatProtocol()) as server:
        backend = create_backend("openai_chat", {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY})
        await backend.complete(ask(tools=(tool,), reasoning_effort="high"))
        await backend.complete(ask(reasoning_effort="high"))
        assert [seen.effort for seen in server.seen] == ["", "high"]
        await backend.aclose()


# --- Anthropic --------------------------------------------------------------------------------------------------------


def anthropic(root: str) -> Any:
    return create_backend("claude_chat", {"model": MODEL, "base_url": root, "api_key": KEY, "route": "api"})


async def test_cache_marks() -> None:
    async with ProviderServer(MessagesProtocol()) as server:
        backend = anthropic(server.root)
        await backend.complete(ask("one"))
        turns = (Message("system", "s"), Message("user", "one"), Message("assistant", "two"), Message("user", "three"))
        await backend.complete(ChatRequest(turns, "rollout"))
        await backend.aclose()
    mark = {"type": "ephemeral"}
    single, conversation = server.bodies
    assert single["system"][-1]["cache_control"] == conversation["system"][-1]["cache_control"] == mark
    assert "cache_control" not in single["messages"][-1]["content"][-1], "what only one call has is not worth writing"
    assert conversation["messages"][-1]["content"][-1]["cache_control"] == mark
    assert "cache_control" not in str(conversation["messages"][:-1])


async def test_blank_messages_are_sent_as_something() -> None:
    async with ProviderServer(MessagesProtocol()) as server:
        backend = anthropic(server.root)
        await backend.complete(ChatRequest((Message("system", " "), Message("user", "")), "rollout"))
        await backend.aclose()
    assert server.seen[0].turns == [("user", "(empty)")] and "system" not in server.bodies[0]


async def test_a_server_without_schemas_is_told_in_the_prompt() -> None:
    class Older(MessagesProtocol):
        def accept(self, request: Any, body: Any) -> Any:
            if "output_config" in body:
                from tests.model.providers.contract.server import Refused

                raise Refused(400, "output_config.format: Extra inputs are not permitted")
            return super().accept(request, body)

    async with ProviderServer(Older()) as server:
        backend = anthropic(server.root)
        await backend.complete(ask(schema={"type": "object"}))
        await backend.aclose()
    assert '{"type": "object"}' in server.seen[0].system


def test_the_missing_sdk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'skillopt\[claude\]'") as caught:
        anthropic("http://127.0.0.1:1")
    assert "\n" not in str(caught.value)


# --- Claude's routes --------------------------------------------------------------------------------------------------


@pytest.fixture
def cli_route(monkeypatch: pytest.MonkeyPatch) -> object:
    """Stands in for the program's route, whose own tests are elsewhere."""
    made = object()
    module = types.ModuleType(claude_chat.CLI_MODULE)
    module.create = lambda settings: made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, claude_chat.CLI_MODULE, module)
    return made


@pytest.mark.parametrize(
    ("route", "installed", "cli"),
    [("cli", True, True), ("cli", False, True), ("", True, True), ("api", True, False), ("auto", True, True),
     ("auto", False, False)],
)  # fmt: skip
def test_routes(route: str, installed: bool, cli: bool, cli_route: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_chat.shutil, "which", lambda name: "/bin/claude" if installed else None)
    made = claude_chat.create({"route": route, "api_key": ANTHROPIC, "model": "m"})
    assert (made is cli_route) is cli
    assert isinstance(made, anthropic_api.AnthropicBackend) is not cli


# --- keys that stay home ----------------------------------------------------------------------------------------------


def resolved(tmp_path: Path, content: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"env": "rich", **content}), encoding="utf-8")
    return load_config(path, environ=environ, env_schemas=SCHEMAS)


AMBIENT = {"OPENAI_API_KEY": OPENAI, "ANTHROPIC_API_KEY": ANTHROPIC}
FAR = "https://llm.example.com/v1"


@pytest.mark.parametrize(
    ("content", "environ", "sent"),
    [
        ({}, {}, OPENAI),
        ({"openai_base_url": "https://api.openai.com/v1/"}, {}, OPENAI),
        ({"openai_base_url": FAR}, {}, ""),
        ({"openai_base_url": "http://api.openai.com/v1"}, {}, ""),
        ({"openai_base_url": "https://api.openai.com.evil.example/v1"}, {}, ""),
        ({"openai_base_url": FAR, "openai_api_key": "given"}, {"OPENAI_API_KEY": ""}, "given"),
        ({}, {"OPENAI_BASE_URL": FAR}, OPENAI),
        ({"backend": "compat"}, {}, OPENAI),
        ({"backend": "compat", "openai_compatible_base_url": FAR}, {}, ""),
        ({"backend": "compat", "target_openai_compatible_base_url": FAR}, {}, ""),
        ({"azure_openai_endpoint": "https://x.openai.azure.com"}, {}, ""),
        ({"azure_openai_endpoint": FAR, "azure_openai_auth_mode": "openai_compatible"}, {}, ""),
        ({"target_backend": "qwen_chat"}, {}, ""),
        ({"target_backend": "minimax_chat"}, {}, ""),
        ({"backend": "claude", "claude_chat_route": "api"}, {}, ANTHROPIC),
        ({"backend": "claude", "anthropic_base_url": FAR}, {}, ""),
        ({"backend": "claude", "target_anthropic_base_url": FAR}, {}, ""),
        ({"backend": "claude"}, {"ANTHROPIC_BASE_URL": FAR}, ANTHROPIC),
        ({"backend": "local"}, {}, ""),
    ],
)
def test_ambient_keys(content: dict[str, Any], environ: dict[str, str], sent: str, tmp_path: Path) -> None:
    found = resolved(tmp_path, content, {**AMBIENT, **environ})
    settings = role_settings(found.config.model, "target")
    assert settings.api_key.get_secret_value() == sent
    kept = sent == "" and ("openai_base_url" in content or "anthropic_base_url" in content)
    assert any("is not sent to" in notice for notice in found.notices) is kept
    assert OPENAI not in str(found.notices) and ANTHROPIC not in str(found.notices)


@pytest.mark.parametrize(
    ("content", "target", "optimizer"),
    [
        ({"azure_openai_api_key": "shared"}, "shared", "shared"),
        ({"azure_openai_api_key": "shared", "target_azure_openai_api_key": "own"}, "own", "shared"),
        ({"azure_openai_api_key": "shared", "azure_openai_endpoint": "https://s", "target_azure_openai_endpoint":
          "https://t"}, "", "shared"),
        ({"azure_openai_api_key": "shared", "target_azure_openai_endpoint": "https://t",
          "optimizer_azure_openai_endpoint": "https://o"}, "shared", "shared"),
        ({"azure_openai_api_key": "shared", "azure_openai_endpoint": "https://s", "target_azure_openai_endpoint":
          "https://s/"}, "shared", "shared"),
    ],
)  # fmt: skip
def test_a_key_belongs_to_its_endpoint(content: dict[str, Any], target: str, optimizer: str, tmp_path: Path) -> None:
    model = resolved(tmp_path, {"azure_openai_auth_mode": "api_key", **content}, {}).config.model
    found = [role_settings(model, role).api_key.get_secret_value() for role in ("target", "optimizer")]
    assert found == [target, optimizer]


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        ({}, ""),
        ({"azure_openai_endpoint": "https://x"}, "azure_cli"),
        ({"azure_openai_endpoint": "https://x", "azure_openai_api_key": "k"}, "api_key"),
        ({"azure_endpoint": "https://x", "azure_api_key": "k"}, "api_key"),
        ({"azure_endpoint": "https://old", "azure_openai_endpoint": ""}, "azure_cli"),
        ({"azure_openai_endpoint": "https://x", "azure_openai_auth_mode": "aad"}, "managed_identity"),
        ({"azure_openai_endpoint": "https://x", "azure_openai_auth_mode": "azure_ad"}, "managed_identity"),
        ({"azure_openai_endpoint": "https://x", "azure_openai_auth_mode": "key"}, "api_key"),
        ({"azure_openai_endpoint": "https://x", "azure_openai_auth_mode": "compat"}, ""),
        ({"azure_openai_auth_mode": "openai"}, ""),
    ],
)
def test_authentication_modes(content: dict[str, Any], mode: str, tmp_path: Path) -> None:
    assert role_settings(resolved(tmp_path, content, {}).config.model, "target").auth_mode == mode


def test_an_older_name_yields_to_the_new_one(tmp_path: Path) -> None:
    content = {"azure_endpoint": "https://old", "azure_openai_endpoint": "https://new"}
    assert resolved(tmp_path, content, {}).config.model.azure_openai_endpoint == "https://new"
    nested = {"model": {"azure_endpoint": "https://old"}, "env": {"name": "rich"}}
    path = tmp_path / "n.yaml"
    path.write_text(yaml.safe_dump(nested), encoding="utf-8")
    loaded = load_config(path, environ={}, env_schemas=SCHEMAS).config
    assert loaded.model.azure_openai_endpoint == "https://old"


# --- symptoms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("<think>hm</think>", [REASONING_ONLY]),
        ("<think>hm", [REASONING_ONLY]),
        ("  <thinking>a\nb</thinking>\n<think>c</think> ", [REASONING_ONLY]),
        ("<mm:think>hm</mm:think>", [REASONING_ONLY]),
        ("<think>hm</think>42", []),
        ("", []),
        ("I <think> so", []),
        ('<tool_call>{"name": "f"}</tool_call>', [TOOL_TEXT]),
        ("sure\n[TOOL_CALLS][{}]", [TOOL_TEXT]),
        ("the tool call failed", []),
    ],
)
def test_symptoms(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in symptoms(ask(), ChatReply(text))] == kinds
    assert not list(symptoms(ask(), ChatReply(text, "length"))) or kinds == [TOOL_TEXT]


def test_markup_that_the_prompt_shows_is_no_symptom() -> None:
    request = ask("call tools as <tool_call>…</tool_call>")
    assert not list(symptoms(request, ChatReply("<tool_call>{}</tool_call>")))


async def test_a_symptom_is_told_once_per_endpoint(rig: Any) -> None:
    replies = ["<think>only</think>", "<tool_call>{}</tool_call>"]
    async with ProviderServer(ChatProtocol(), lambda seen: Say(replies[int(seen.turns[-1][1]) % 2])) as server:
        settings = {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY}
        made = rig(create_backend("openai_compatible", settings))
        told: list[str] = []
        client: Client = made.client
        client._notify = told.append
        for number in range(6):
            await made.chat(str(number))
    assert len(told) == 2 and all(server.root in text for text in told)
    assert "thinking off" in told[0] and "tool parser" in told[1]


async def test_reasoning_in_a_field_of_its_own_is_seen_as_reasoning() -> None:
    protocol = VllmProtocol()

    def reply(say: Say, cap: int) -> Any:
        message = {"role": "assistant", "content": None, "reasoning_content": "because"}
        return {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]}

    protocol.reply = reply  # type: ignore[method-assign]
    async with ProviderServer(protocol) as server:
        backend = create_backend("qwen_chat", {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY})
        found = await backend.complete(ask())
        await backend.aclose()
    assert [kind for kind, _ in symptoms(ask(), found)] == [REASONING_ONLY]
