"""Every option of every provider, by flag, by each of its variables and by file, read in the request that goes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from skillopt.config import load_config, parse_overrides, role_settings
from skillopt.config.table import shared_specs
from skillopt.model.registry import create_backend
from skillopt.model.types import ChatReply
from tests.model.model_support import ask

ROLES = ("optimizer", "target")
FAMILIES = ("azure_openai_", "openai_compatible_", "qwen_chat_", "minimax_", "anthropic_", "openai_")
KEY = "sk-" + "0123456789abcdef" * 2


class Recorder:
    """Answers whatever is asked in the asker's protocol, and keeps it."""

    def __init__(self) -> None:
        self.path, self.query, self.headers, self.body = "", {}, {}, {}

    async def __aenter__(self) -> Recorder:
        app = web.Application()
        app.router.add_post("/{tail:.*}", self._serve)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.runner.cleanup()

    async def _serve(self, request: web.Request) -> web.Response:
        self.path, self.query = request.path, dict(request.query)
        self.headers, self.body = dict(request.headers), json.loads(await request.text())
        if request.path.endswith("/messages"):
            return web.json_response({"type": "message", "content": [{"type": "text", "text": "ok"}]})
        return web.json_response({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})


Read = Callable[[Recorder], Any]


@dataclass(frozen=True)
class Option:
    """`value` given for `name`; `read` finds `expected` in the request. `beside` are settings it needs, `{root}` is the
    server's address."""

    backend: str
    name: str
    value: Any
    read: Read
    expected: Any
    beside: Mapping[str, Any] = field(default_factory=dict)
    home: str = ""
    """The variable that names the address beside a key of the environment: such keys go to their own hosts, or to the
    address that stands beside them."""
    roles: bool = False
    """The option exists with optimizer_ and target_ in front."""


def header(name: str) -> Read:
    return lambda r: r.headers.get(name)


def body(*path: str) -> Read:
    def read(r: Recorder) -> Any:
        value: Any = r.body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    return read


def query(name: str) -> Read:
    return lambda r: r.query.get(name)


BEARER = f"Bearer {KEY}"
PATH: Read = lambda r: r.path  # noqa: E731
TIMEOUT = header("x-stainless-read-timeout")
AZURE = {"azure_openai_endpoint": "{root}", "azure_openai_api_key": KEY, "model": "dep"}
COMPAT = {"openai_compatible_base_url": "{root}/v1", "model": "m"}
QWEN = {"qwen_chat_base_url": "{root}/v1", "model": "m"}
MINIMAX = {"minimax_base_url": "{root}/v1", "minimax_api_key": KEY}
CLAUDE = {"anthropic_base_url": "{root}", "anthropic_api_key": KEY, "claude_chat_route": "api"}

OPTIONS = [
    Option("openai_chat", "openai_base_url", "{root}/v9", PATH, "/v9/chat/completions", {"openai_api_key": KEY}),
    Option("openai_chat", "openai_api_key", KEY, header("Authorization"), BEARER, {"openai_base_url": "{root}/v1"},
           home="OPENAI_BASE_URL"),
    Option("openai_chat", "reasoning_effort", "high", body("reasoning_effort"), "high",
           {"openai_base_url": "{root}/v1", "openai_api_key": KEY}),
    Option("openai_chat", "azure_openai_endpoint", "{root}", PATH, "/openai/deployments/dep/chat/completions",
           {"azure_openai_api_key": KEY, "model": "dep"}, roles=True),
    Option("openai_chat", "azure_openai_api_version", "2031-01-01", query("api-version"), "2031-01-01", AZURE,
           roles=True),
    Option("openai_chat", "azure_openai_api_key", KEY, header("api-key"), KEY,
           {"azure_openai_endpoint": "{root}", "model": "dep"}, roles=True),
    Option("openai_chat", "azure_openai_auth_mode", "openai_compatible", PATH, "/chat/completions", AZURE, roles=True),
    Option("openai_compatible", "openai_compatible_base_url", "{root}/v7", PATH, "/v7/chat/completions",
           {"model": "m"}, roles=True),
    Option("openai_compatible", "openai_compatible_api_key", KEY, header("Authorization"), BEARER, COMPAT, roles=True),
    Option("openai_compatible", "openai_compatible_temperature", 0.25, body("temperature"), 0.25, COMPAT, roles=True),
    Option("openai_compatible", "openai_compatible_max_tokens", 123, body("max_completion_tokens"), 123, COMPAT,
           roles=True),
    Option("openai_compatible", "openai_compatible_timeout_seconds", 17, TIMEOUT, "17.0", COMPAT, roles=True),
    Option("qwen_chat", "qwen_chat_base_url", "{root}/q", PATH, "/q/chat/completions", {"model": "m"}, roles=True),
    Option("qwen_chat", "qwen_chat_api_key", KEY, header("Authorization"), BEARER, QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_temperature", 0.25, body("temperature"), 0.25, QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_temperature", "off", body("temperature"), None, QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_timeout_seconds", 17, TIMEOUT, "17.0", QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_max_tokens", 123, body("max_tokens"), 123, QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_enable_thinking", True, body("chat_template_kwargs"), {"enable_thinking": True},
           QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_thinking_mode", "disabled", body("chat_template_kwargs"),
           {"enable_thinking": False}, QWEN, roles=True),
    Option("qwen_chat", "qwen_chat_use_max_completion_tokens", True, body("max_completion_tokens"), 8000, QWEN,
           roles=True),
    Option("minimax_chat", "minimax_base_url", "{root}/mm", PATH, "/mm/chat/completions", {"minimax_api_key": KEY},
           roles=True),
    Option("minimax_chat", "minimax_api_key", KEY, header("Authorization"), BEARER,
           {"minimax_base_url": "{root}/v1"}, roles=True),
    Option("minimax_chat", "minimax_model", "MiniMax-M9", body("model"), "MiniMax-M9", MINIMAX),
    Option("minimax_chat", "minimax_temperature", 0.25, body("temperature"), 0.25, MINIMAX),
    Option("minimax_chat", "minimax_max_tokens", 123, body("max_completion_tokens"), 123, MINIMAX),
    Option("minimax_chat", "minimax_timeout_seconds", 17, TIMEOUT, "17.0", MINIMAX),
    Option("minimax_chat", "minimax_enable_thinking", True, body("thinking"), {"type": "adaptive"}, MINIMAX),
    Option("claude_chat", "anthropic_base_url", "{root}/a", PATH, "/a/v1/messages",
           {"optimizer_anthropic_api_key": KEY, "target_anthropic_api_key": KEY, "claude_chat_route": "api"},
           roles=True),
    Option("claude_chat", "anthropic_api_key", KEY, header("Authorization"), BEARER,
           {"anthropic_base_url": "{root}", "claude_chat_route": "api"}, home="ANTHROPIC_BASE_URL", roles=True),
    Option("claude_chat", "claude_chat_route", "api", PATH, "/v1/messages",
           {"anthropic_base_url": "{root}", "anthropic_api_key": KEY}),
    Option("claude_chat", "reasoning_effort", "low", body("output_config"), {"effort": "low"}, CLAUDE),
]  # fmt: skip
ELSEWHERE = {
    "minimax_region": "test_regions",
    "azure_openai_ad_scope": "test_azure.py",
    "azure_openai_managed_identity_client_id": "test_azure.py",
}
"""Options whose effect is not in the request's own bytes, and where they are tested."""


async def ask_role(
    role: str, option: Option, tmp: Path, *, given: Mapping[str, Any], argv: list[str], environ: Mapping[str, str],
    recorder: Recorder,
) -> ChatReply:  # fmt: skip
    """Resolve a configuration the way a run does, build the role's backend, ask once."""

    def at(value: Any) -> Any:
        return value.replace("{root}", recorder.root) if isinstance(value, str) else value

    beside = {("target_model" if k == "model" else k): at(v) for k, v in option.beside.items()}
    if "target_model" in beside:
        beside["optimizer_model"] = beside["target_model"]
    content = {"env": "rich", "backend": option.backend, "optimizer_backend": option.backend, **beside}
    content |= {name: at(value) for name, value in given.items()}
    path = tmp / "config.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    from tests.config.standins import SCHEMAS

    config = load_config(
        path,
        overrides=parse_overrides([at(a) for a in argv], SCHEMAS),
        environ={k: at(v) for k, v in environ.items()},
        env_schemas=SCHEMAS,
    ).config
    settings = role_settings(config.model, role)  # type: ignore[arg-type]
    backend = create_backend(settings.backend, settings.as_mapping())
    try:
        return await backend.complete(ask(reasoning_effort=settings.reasoning_effort))
    finally:
        await backend.aclose()


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def ids(value: Any) -> str | None:
    return f"{value.backend}-{value.name}-{value.value}" if isinstance(value, Option) else None


@pytest.mark.parametrize("option", OPTIONS, ids=ids)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ["file", "flag", "environment"])
async def test_shared(option: Option, role: str, route: str, tmp_path: Path) -> None:
    await check(option, option.name, role, route, tmp_path)


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.roles], ids=ids)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ["file", "flag", "environment"])
async def test_of_one_role(option: Option, role: str, route: str, tmp_path: Path) -> None:
    await check(option, f"{role}_{option.name}", role, route, tmp_path)


async def check(option: Option, name: str, role: str, route: str, tmp: Path) -> None:
    spec = next(s for s in shared_specs() if s.section == "model" and s.name == name)
    async with Recorder() as recorder:
        tries: list[dict[str, Any]] = []
        if route == "file":
            tries.append({"given": {name: option.value}, "argv": [], "environ": {}})
        elif route == "flag":
            tries.append({"given": {}, "argv": [f"--{name}", text_of(option.value)], "environ": {}})
        else:
            assert spec.mark.env or name == "reasoning_effort", f"{name} has no variable"
            for variable in spec.mark.env:
                environ = {variable: text_of(option.value)}
                if option.home:
                    environ[option.home] = str(option.beside[option.home.lower()])
                tries.append({"given": {}, "argv": [], "environ": environ})
        for one in tries:
            await ask_role(role, option, tmp, recorder=recorder, **one)
            assert option.read(recorder) == option.expected, one


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.roles], ids=ids)
async def test_what_is_one_roles_never_reaches_the_other(option: Option, tmp_path: Path) -> None:
    async with Recorder() as recorder:
        given = {f"optimizer_{option.name}": option.value}
        try:
            await ask_role("target", option, tmp_path, given=given, argv=[], environ={}, recorder=recorder)
        except Exception:  # noqa: BLE001 - without the other role's endpoint or key there may be nobody to ask
            assert not recorder.body
        assert not recorder.body or option.read(recorder) != option.expected


def test_no_option_is_left_out() -> None:
    tested = {option.name for option in OPTIONS} | {f"{r}_{o.name}" for o in OPTIONS if o.roles for r in ROLES}
    tested |= set(ELSEWHERE) | {f"{role}_{name}" for name in ELSEWHERE for role in ROLES}
    declared = {
        s.name
        for s in shared_specs()
        if s.section == "model" and s.name.removeprefix("optimizer_").removeprefix("target_").startswith(FAMILIES)
    }
    assert declared and declared <= tested


def settings_of(tmp_path: Path, role: str, content: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Any:
    from tests.config.standins import SCHEMAS

    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"env": "rich", **content}), encoding="utf-8")
    loaded = load_config(path, environ=environ or {}, env_schemas=SCHEMAS)
    return role_settings(loaded.config.model, role), loaded.notices  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("region", "url"),
    [("", "https://api.minimax.io/v1"), ("global_en", "https://api.minimax.io/v1"),
     ("cn_zh", "https://api.minimaxi.com/v1")],
)  # fmt: skip
def test_regions(region: str, url: str, tmp_path: Path) -> None:
    backend = {"target_backend": "minimax_chat"}
    for content, environ in (({"minimax_region": region}, {}), ({}, {"MINIMAX_REGION": region})):
        settings, _ = settings_of(tmp_path, "target", {**backend, **content}, environ)
        assert create_backend(settings.backend, settings.as_mapping()).endpoint == url
    settings, _ = settings_of(tmp_path, "target", {**backend, "minimax_region": region, "minimax_base_url": "http://x"})
    assert settings.base_url == "http://x"


@pytest.mark.parametrize(
    ("content", "environ", "target", "optimizer"),
    [
        ({}, {"QWEN_CHAT_MODEL": "q"}, "q", "q"),
        ({}, {"QWEN_CHAT_MODEL": "q", "TARGET_QWEN_CHAT_MODEL": "t"}, "t", "q"),
        ({}, {"QWEN_CHAT_MODEL": "q", "OPTIMIZER_DEPLOYMENT": "d"}, "q", "d"),
        ({}, {"STUDENT_QWEN_CHAT_MODEL": "s", "TEACHER_QWEN_CHAT_MODEL": "t"}, "s", "t"),
        ({"target_model": "file"}, {}, "file", "Qwen/Qwen3.5-4B"),
    ],
)
def test_models_by_variable(
    content: dict[str, Any], environ: dict[str, str], target: str, optimizer: str, tmp_path: Path
) -> None:
    content = {"optimizer_backend": "qwen_chat", "target_backend": "qwen_chat", **content}
    assert settings_of(tmp_path, "target", content, environ)[0].model == target
    assert settings_of(tmp_path, "optimizer", content, environ)[0].model == optimizer


def test_the_azure_deployment_variable(tmp_path: Path) -> None:
    found, _ = settings_of(tmp_path, "target", {}, {"AZURE_OPENAI_DEPLOYMENT": "dep"})
    assert found.model == "dep"


async def test_two_qwen_servers_at_once(tmp_path: Path) -> None:
    async with Recorder() as one, Recorder() as two:
        content = {
            "optimizer_backend": "qwen_chat", "target_backend": "qwen_chat",
            "optimizer_qwen_chat_base_url": f"{one.root}/v1", "optimizer_qwen_chat_thinking_mode": "enabled",
            "target_qwen_chat_base_url": f"{two.root}/v1", "target_qwen_chat_thinking_mode": "disabled",
            "qwen_chat_api_key": KEY,
        }  # fmt: skip
        for role in ROLES:
            settings, _ = settings_of(tmp_path, role, content)
            backend = create_backend(settings.backend, settings.as_mapping())
            await backend.complete(ask(role))
            await backend.aclose()
        assert [r.body["messages"][-1]["content"] for r in (one, two)] == ["optimizer", "target"]
        assert [r.body["chat_template_kwargs"]["enable_thinking"] for r in (one, two)] == [True, False]


@pytest.mark.parametrize(
    ("content", "thinking"),
    [
        ({}, ""),
        ({"qwen_chat_thinking_mode": "server_default"}, ""),
        ({"qwen_chat_enable_thinking": False}, ""),
        ({"qwen_chat_enable_thinking": True}, "enabled"),
        ({"qwen_chat_enable_thinking": True, "qwen_chat_thinking_mode": ""}, "enabled"),
        ({"qwen_chat_enable_thinking": True, "qwen_chat_thinking_mode": "disabled"}, "disabled"),
        ({"qwen_chat_thinking_mode": "disabled", "target_qwen_chat_enable_thinking": True}, "enabled"),
        ({"qwen_chat_thinking_mode": "disabled", "target_qwen_chat_thinking_mode": "server_default"}, ""),
    ],
)
def test_thinking_has_three_states(content: dict[str, Any], thinking: str, tmp_path: Path) -> None:
    assert settings_of(tmp_path, "target", {"target_backend": "qwen_chat", **content})[0].thinking == thinking


def test_a_blank_in_a_file_does_not_hide_a_variable(tmp_path: Path) -> None:
    content = {"target_backend": "qwen_chat", "qwen_chat_thinking_mode": "", "qwen_chat_base_url": ""}
    environ = {"QWEN_CHAT_THINKING_MODE": "disabled", "QWEN_CHAT_BASE_URL": "http://127.0.0.1:9/v1"}
    settings, _ = settings_of(tmp_path, "target", content, environ)
    assert (settings.thinking, settings.base_url) == ("disabled", "http://127.0.0.1:9/v1")
