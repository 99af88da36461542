"""Before anything is spent: a bad key, a wrong address, an unknown model, a missing part are one line with the fix."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillopt.config import Config, load_config
from skillopt.core.errors import SkillOptError, StopRun
from skillopt.engine.run.doctor import Check, check_roles
from skillopt.engine.run.models import probe
from skillopt.engine.run.telling.notices import warnings_as_notices
from skillopt.model.registry import create_backend
from skillopt.records.events import Event, Notice
from tests.config.standins import SCHEMAS
from tests.model.providers.contract.anthropic_protocol import MessagesProtocol
from tests.model.providers.contract.openai_protocol import AzureProtocol, ChatProtocol, MinimaxProtocol, VllmProtocol
from tests.model.providers.contract.server import KEY, MODEL, Fault, Protocol, ProviderServer

WRONG = "sk-wrong-" + "9f8e7d6c" * 4
PROVIDERS: Mapping[str, tuple[type[Protocol], Mapping[str, Any]]] = {
    "openai": (ChatProtocol, {"backend": "openai_chat", "openai_base_url": "{url}/v1", "openai_api_key": "{key}"}),
    "azure": (AzureProtocol, {"backend": "azure", "azure_openai_endpoint": "{url}", "azure_openai_api_key": "{key}"}),
    "compatible": (ChatProtocol, {"backend": "compat", "openai_compatible_base_url": "{url}/v1",
                                  "openai_compatible_api_key": "{key}"}),
    "anthropic": (MessagesProtocol, {"backend": "claude", "claude_chat_route": "api", "anthropic_base_url": "{url}",
                                     "anthropic_api_key": "{key}"}),
    "qwen": (VllmProtocol, {"optimizer_backend": "qwen_chat", "target_backend": "qwen_chat",
                            "qwen_chat_base_url": "{url}/v1", "qwen_chat_api_key": "{key}"}),
    "minimax": (MinimaxProtocol, {"optimizer_backend": "minimax_chat", "target_backend": "minimax_chat",
                                  "minimax_base_url": "{url}/v1", "minimax_api_key": "{key}"}),
}  # fmt: skip


def config_of(tmp_path: Path, content: Mapping[str, Any], url: str, *, key: str = KEY, model: str = MODEL) -> Config:
    filled = {k: v.format(url=url, key=key) if isinstance(v, str) else v for k, v in content.items()}
    path = tmp_path / "config.yaml"
    filled = {"env": "rich", "optimizer_model": model, "target_model": model, **filled}
    path.write_text(yaml.safe_dump(filled), encoding="utf-8")
    return load_config(path, environ={}, env_schemas=SCHEMAS).config


async def checked(config: Config) -> list[Check]:
    return [check async for check in check_roles(config)]


def one_line(check: Check, *, says: str, fix: str) -> None:
    assert check.state == "failed"
    line = f"{check.found} {check.fix}"
    assert says in line and fix in check.fix and "\n" not in line, line
    assert KEY not in line and WRONG not in line


@pytest.mark.parametrize("name", PROVIDERS)
async def test_each_provider(name: str, tmp_path: Path) -> None:
    protocol, content = PROVIDERS[name]
    async with ProviderServer(protocol()) as server:
        good = await checked(config_of(tmp_path, content, server.root))
        assert [check.state for check in good] == ["ok", "ok"], good
        assert len(server.seen) == 1, "two roles on one account are asked once"
        for check in await checked(config_of(tmp_path, content, server.root, key=WRONG)):
            one_line(check, says="401", fix=f"check the API key of the {check.name.split()[0]}")
        for check in await checked(config_of(tmp_path, content, f"{server.root}/elsewhere")):
            one_line(check, says=f"{server.root}/elsewhere", fix="check ")
        for check in await checked(config_of(tmp_path, content, server.root, model="no-such-model")):
            role = check.name.split()[0]
            fix = "the name of the deployment" if name == "azure" else f"check the model name of the {role}"
            one_line(check, says="no-such-model", fix=fix)
        root = server.root
    for check in await checked(config_of(tmp_path, content, root)):
        one_line(check, says="the connection failed", fix="start the server at 127.0.0.1, or check ")


async def test_roles_with_keys_of_their_own_are_both_asked(tmp_path: Path) -> None:
    content = {"backend": "compat", "openai_compatible_base_url": "{url}/v1", "openai_compatible_api_key": "{key}",
               "target_openai_compatible_api_key": WRONG}  # fmt: skip
    async with ProviderServer(ChatProtocol()) as server:
        target, optimizer = await checked(config_of(tmp_path, content, server.root))
    assert (target.state, optimizer.state) == ("failed", "ok")


@pytest.mark.parametrize(
    ("content", "says", "fix"),
    [
        ({"backend": "openai_chat"}, "no API key for https://api.openai.com/v1", "set OPENAI_API_KEY"),
        ({"backend": "claude", "claude_chat_route": "api"}, "no API key for https://api.anthropic.com",
         "set ANTHROPIC_API_KEY"),
        ({"azure_openai_auth_mode": "api_key"}, "needs an endpoint", "set azure_openai_endpoint"),
        ({"azure_openai_auth_mode": "api_key", "azure_openai_endpoint": "https://x.openai.azure.com"},
         "no Azure API key", "set AZURE_OPENAI_API_KEY"),
        ({"azure_openai_auth_mode": "azure_cli", "azure_openai_endpoint": "https://x.example"},
         "is not sent to x.example", "an https endpoint of Azure"),
        ({"backend": "compat", "openai_compatible_base_url": "localhost:8000"}, "not an http(s) address", "up to /v1"),
        ({"backend": "compat", "openai_compatible_base_url": "http://far.example/v1",
          "openai_compatible_api_key": KEY}, "over plain HTTP", "https://"),
    ],
)  # fmt: skip
async def test_what_is_missing(
    content: dict[str, Any], says: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for check in await checked(config_of(tmp_path, content, "")):
        one_line(check, says=says, fix=fix)


async def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    content = {"azure_openai_endpoint": "https://x.openai.azure.com", "azure_openai_auth_mode": "managed_identity"}
    for check in await checked(config_of(tmp_path, content, "")):
        one_line(check, says="azure-identity", fix="pip install 'skillopt[azure]'")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    content = {"backend": "claude", "claude_chat_route": "api", "anthropic_api_key": "{key}"}
    for check in await checked(config_of(tmp_path, content, "")):
        one_line(check, says="anthropic", fix="pip install 'skillopt[claude]'")


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_a_run_stops_at_its_probe(status: int, rig: Any) -> None:
    """Nothing else is asked: the first call is the last."""
    async with ProviderServer(ChatProtocol(), lambda seen: Fault(status, f"no, with {KEY}")) as server:
        settings = {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY}
        made = rig(create_backend("openai_chat", settings))
        with pytest.raises(SkillOptError, match=str(status)) as caught:
            await probe(made.client)
        assert len(server.bodies) == (3 if status == 500 else 1)
    assert isinstance(caught.value, StopRun) and KEY not in str(caught.value)


async def test_what_a_model_refuses_is_a_notice_of_the_run(rig: Any) -> None:
    """Once, where the user looks, and not between the lines of a live display."""
    events: list[Event] = []
    with warnings_as_notices(events.append):
        async with ProviderServer(ChatProtocol(frozenset({"temperature"}))) as server:
            settings = {"model": MODEL, "base_url": f"{server.root}/v1", "api_key": KEY}
            made = rig(create_backend("openai_chat", settings))
            for text in ("one", "two"):
                await made.chat(text, temperature=0.1)
    (event,) = events
    assert isinstance(event, Notice)
    assert "refuses temperature; it is left out, so its value has no effect" in event.text
    logging.getLogger("skillopt.model").warning("after the run")
    assert len(events) == 1
