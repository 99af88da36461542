"""Keys of section `model` for qwen_chat: a vLLM or SGLang server, or one for each role.

A role's own setting beats the shared one. Published non-thinking numbers need `qwen_chat_thinking_mode: disabled`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import EMPTY, Seconds, Temperature, Tokens

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
