"""A server that was named chooses the backend where nobody named one, and is spoken of where it has no effect."""

from __future__ import annotations

import pytest

from skillopt.config import role_settings
from skillopt.core.errors import ConfigError

from .conftest import Load

KEY = {"OPENAI_API_KEY": "sk-somebody-elses-1234567890"}


@pytest.mark.parametrize(
    ("variable", "backend"),
    [
        ("OPENAI_COMPATIBLE_BASE_URL", "openai_compatible"),
        ("QWEN_CHAT_BASE_URL", "qwen_chat"),
        ("MINIMAX_BASE_URL", "minimax_chat"),
    ],
)
def test_an_address_without_a_backend_chooses_it(load: Load, variable: str, backend: str) -> None:
    resolved = load("", environ={**KEY, variable: "http://127.0.0.1:9/v1"})
    for role in ("optimizer", "target"):
        settings = role_settings(resolved.config.model, role)
        assert (settings.backend, settings.base_url) == (backend, "http://127.0.0.1:9/v1")
        assert settings.api_key.get_secret_value() == "", "a key of another provider stays at home"
    assert any(variable in text and backend in text for text in resolved.notices)


def test_also_from_a_file_and_a_flag_and_for_one_role_only(load: Load) -> None:
    resolved = load("model: {target_openai_compatible_base_url: 'http://127.0.0.1:9/v1'}", environ=KEY)
    assert resolved.config.model.target_backend == "openai_compatible"
    assert resolved.config.model.optimizer_backend == "openai_chat"
    resolved = load("", ["--target_qwen_chat_base_url", "http://127.0.0.1:9/v1"])
    assert resolved.config.model.target_backend == "qwen_chat"


def test_a_named_backend_stands_and_the_idle_address_is_told(load: Load) -> None:
    environ = {**KEY, "OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:9/v1"}
    resolved = load("model: {backend: openai_chat}", environ=environ)
    assert resolved.config.model.target_backend == "openai_chat"
    told = [text for text in resolved.notices if "OPENAI_COMPATIBLE_BASE_URL" in text]
    assert len(told) == 2 and all("has no effect" in text and "api.openai.com" in text for text in told)
    assert not load("", ["--backend", "openai_chat"], environ).notices, "who names it on the line knows"


def test_an_azure_endpoint_beside_it_keeps_azure_and_says_so(load: Load) -> None:
    environ = {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com", "QWEN_CHAT_BASE_URL": "http://127.0.0.1:9/v1"}
    resolved = load("", environ=environ)
    assert resolved.config.model.target_backend == "openai_chat"
    assert any("me.openai.azure.com" in text and "QWEN_CHAT_BASE_URL" in text for text in resolved.notices)


def test_two_servers_are_a_question(load: Load) -> None:
    environ = {"OPENAI_COMPATIBLE_BASE_URL": "http://h:1/v1", "QWEN_CHAT_BASE_URL": "http://h:2/v1"}
    with pytest.raises(ConfigError, match=r"name different servers.*set model\.optimizer_backend"):
        load("", environ=environ)


def test_nothing_named_changes_nothing(load: Load) -> None:
    resolved = load("", environ=KEY)
    assert resolved.config.model.target_backend == "openai_chat" and not resolved.notices
