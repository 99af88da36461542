"""Keys of section `model` for qwen_chat: a vLLM or SGLang server, or one for each role.

A role's own setting beats the shared one. Published non-thinking numbers need `qwen_chat_thinking_mode: disabled`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import EMPTY, Seconds, Temperature, Tokens, role_variables

ThinkingMode = Literal["", "server_default", "enabled", "disabled"]
QwenTemperature = Temperature | Literal["", "none", "off"] | None


class QwenFields(Section):
    """qwen_chat."""

    qwen_chat_base_url: Annotated[str, Key(env=("QWEN_CHAT_BASE_URL",), change="any")] = "http://localhost:8000/v1"
    """Endpoint of qwen_chat, a vLLM or SGLang server, up to and including `/v1`."""
    qwen_chat_api_key: Annotated[SecretStr, Key(env=("QWEN_CHAT_API_KEY",), change="none")] = EMPTY
    """Key of the Qwen endpoint; blank for servers that need none."""
    qwen_chat_temperature: Annotated[QwenTemperature, Key(env=("QWEN_CHAT_TEMPERATURE",))] = 0.7
    """Sampling temperature of qwen_chat where a stage sets none; blank, none, off or null leaves it out."""
    qwen_chat_timeout_seconds: Annotated[Seconds, Key(env=("QWEN_CHAT_TIMEOUT_SECONDS",), change="any")] = 300
    """Seconds that one attempt at the Qwen endpoint may take."""
    qwen_chat_max_tokens: Annotated[Tokens, Key(env=("QWEN_CHAT_MAX_TOKENS",))] = 8000
    """Upper bound for the completion tokens that any call may ask of the Qwen endpoint."""
    qwen_chat_enable_thinking: Annotated[bool | None, Key(env=("QWEN_CHAT_ENABLE_THINKING",))] = None
    """Older form of the thinking mode: true is enabled, false sends nothing; null is not set."""
    qwen_chat_thinking_mode: Annotated[ThinkingMode, Key(env=("QWEN_CHAT_THINKING_MODE",))] = ""
    """Thinking: server_default sends nothing, enabled and disabled say so to the server; blank is not set."""
    qwen_chat_use_max_completion_tokens: Annotated[bool, Key(env=("QWEN_CHAT_USE_MAX_COMPLETION_TOKENS",))] = False
    """Send the completion bound as max_completion_tokens in place of max_tokens."""

    optimizer_qwen_chat_base_url: Annotated[
        str, Key(env=role_variables("optimizer", "QWEN_CHAT_BASE_URL"), change="any")
    ] = ""
    """Endpoint of qwen_chat of the optimizer, a vLLM or SGLang server, up to and including `/v1`; blank takes the
    shared one."""
    optimizer_qwen_chat_api_key: Annotated[
        SecretStr, Key(env=role_variables("optimizer", "QWEN_CHAT_API_KEY"), change="none")
    ] = EMPTY
    """Key of the Qwen endpoint of the optimizer; blank takes the shared one while the endpoint is shared too."""
    optimizer_qwen_chat_temperature: Annotated[
        Temperature | Literal["none", "off"] | None, Key(env=role_variables("optimizer", "QWEN_CHAT_TEMPERATURE"))
    ] = None
    """Sampling temperature of qwen_chat of the optimizer where a stage sets none; none or off leaves it out, null
    takes the shared one."""
    optimizer_qwen_chat_timeout_seconds: Annotated[
        Seconds | None, Key(env=role_variables("optimizer", "QWEN_CHAT_TIMEOUT_SECONDS"), change="any")
    ] = None
    """Seconds that one attempt of the optimizer at the Qwen endpoint may take; null takes the shared one."""
    optimizer_qwen_chat_max_tokens: Annotated[
        Tokens | None, Key(env=role_variables("optimizer", "QWEN_CHAT_MAX_TOKENS"))
    ] = None
    """Upper bound for the completion tokens that any call of the optimizer may ask of the Qwen endpoint; null takes
    the shared one."""
    optimizer_qwen_chat_enable_thinking: Annotated[
        bool | None, Key(env=role_variables("optimizer", "QWEN_CHAT_ENABLE_THINKING"))
    ] = None
    """Older form of the thinking mode of the optimizer: true is enabled, false sends nothing; null is not set."""
    optimizer_qwen_chat_thinking_mode: Annotated[
        ThinkingMode, Key(env=role_variables("optimizer", "QWEN_CHAT_THINKING_MODE"))
    ] = ""
    """Thinking of the optimizer: server_default sends nothing, enabled and disabled say so to the server; blank is
    not set."""
    optimizer_qwen_chat_use_max_completion_tokens: Annotated[
        bool | None, Key(env=role_variables("optimizer", "QWEN_CHAT_USE_MAX_COMPLETION_TOKENS"))
    ] = None
    """Send the completion bound of the optimizer as max_completion_tokens in place of max_tokens; null takes the
    shared one."""

    target_qwen_chat_base_url: Annotated[str, Key(env=role_variables("target", "QWEN_CHAT_BASE_URL"), change="any")] = (
        ""
    )
    """Endpoint of qwen_chat of the target, a vLLM or SGLang server, up to and including `/v1`; blank takes the
    shared one."""
    target_qwen_chat_api_key: Annotated[
        SecretStr, Key(env=role_variables("target", "QWEN_CHAT_API_KEY"), change="none")
    ] = EMPTY
    """Key of the Qwen endpoint of the target; blank takes the shared one while the endpoint is shared too."""
    target_qwen_chat_temperature: Annotated[
        Temperature | Literal["none", "off"] | None, Key(env=role_variables("target", "QWEN_CHAT_TEMPERATURE"))
    ] = None
    """Sampling temperature of qwen_chat of the target where a stage sets none; none or off leaves it out, null
    takes the shared one."""
    target_qwen_chat_timeout_seconds: Annotated[
        Seconds | None, Key(env=role_variables("target", "QWEN_CHAT_TIMEOUT_SECONDS"), change="any")
    ] = None
    """Seconds that one attempt of the target at the Qwen endpoint may take; null takes the shared one."""
    target_qwen_chat_max_tokens: Annotated[Tokens | None, Key(env=role_variables("target", "QWEN_CHAT_MAX_TOKENS"))] = (
        None
    )
    """Upper bound for the completion tokens that any call of the target may ask of the Qwen endpoint; null takes
    the shared one."""
    target_qwen_chat_enable_thinking: Annotated[
        bool | None, Key(env=role_variables("target", "QWEN_CHAT_ENABLE_THINKING"))
    ] = None
    """Older form of the thinking mode of the target: true is enabled, false sends nothing; null is not set."""
    target_qwen_chat_thinking_mode: Annotated[
        ThinkingMode, Key(env=role_variables("target", "QWEN_CHAT_THINKING_MODE"))
    ] = ""
    """Thinking of the target: server_default sends nothing, enabled and disabled say so to the server; blank is not
    set."""
    target_qwen_chat_use_max_completion_tokens: Annotated[
        bool | None, Key(env=role_variables("target", "QWEN_CHAT_USE_MAX_COMPLETION_TOKENS"))
    ] = None
    """Send the completion bound of the target as max_completion_tokens in place of max_tokens; null takes the
    shared one."""
