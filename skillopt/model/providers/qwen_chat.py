"""qwen_chat: a vLLM or SGLang server. The wire is `openai_compatible`'s with the older name of the completion cap.

Thinking is a switch of the chat template with three states: nothing is sent, on, or off. A server that refuses the
field is told nothing from then on, with a warning.
"""

from __future__ import annotations

from skillopt.model.providers.openai_compatible import CompatibleBackend, compatible_settings
from skillopt.model.providers.wire.dialect import CAP_FIELDS, Dialect
from skillopt.model.types import BackendSettings

BASE_URL = "http://localhost:8000/v1"
MODEL = "Qwen/Qwen3.5-4B"


def create(settings: BackendSettings) -> CompatibleBackend:
    """Backend from a role's settings: model, base_url, api_key, temperature, max_tokens, timeout_seconds, thinking
    (enabled, disabled or blank), use_max_completion_tokens. Raises `ConfigError`."""
    thinking = settings.get("thinking") or ""
    extra = {"chat_template_kwargs": {"enable_thinking": thinking == "enabled"}} if thinking else {}
    modern = bool(settings.get("use_max_completion_tokens", False))
    return CompatibleBackend(
        compatible_settings(
            settings,
            model=str(settings.get("model") or MODEL),
            base_url=str(settings.get("base_url") or BASE_URL).rstrip("/"),
            extra_body=extra,
        ),
        kind="qwen_chat",
        dialect=Dialect(cap_field=CAP_FIELDS[0] if modern else CAP_FIELDS[1]),
    )
