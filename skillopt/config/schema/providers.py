"""Keys of section `model` for minimax_chat and claude_chat."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import EMPTY, Seconds, Temperature, Tokens


class MinimaxFields(Section):
    """minimax_chat."""

    minimax_region: Annotated[Literal["", "global_en", "cn_zh"], Key(env=("MINIMAX_REGION",), change="any")] = ""
    """Region whose endpoint is used, api.minimax.io (global_en, also for blank) or api.minimaxi.com (cn_zh)."""
    minimax_base_url: Annotated[str, Key(env=("MINIMAX_BASE_URL",), change="any")] = ""
    """Endpoint of minimax_chat; blank takes the region's."""
    minimax_api_key: Annotated[SecretStr, Key(env=("MINIMAX_API_KEY",), change="none")] = EMPTY
    """Key of the MiniMax endpoint."""
    minimax_model: Annotated[str, Key(env=("MINIMAX_MODEL",))] = "MiniMax-M3"
    """Model of a role on minimax_chat that names none."""
    minimax_temperature: Annotated[Temperature | None, Key(env=("MINIMAX_TEMPERATURE",))] = 0.7
    """Sampling temperature of minimax_chat where a stage sets none; null leaves it out."""
    minimax_max_tokens: Annotated[Tokens, Key(env=("MINIMAX_MAX_TOKENS",))] = 8000
    """Upper bound for the completion tokens that any call may ask of MiniMax."""
    minimax_timeout_seconds: Annotated[Seconds, Key(env=("MINIMAX_TIMEOUT_SECONDS",), change="any")] = 300
    """Seconds that one attempt at the MiniMax endpoint may take."""
    minimax_enable_thinking: Annotated[bool | None, Key(env=("MINIMAX_ENABLE_THINKING",))] = False
    """Thinking on MiniMax: true leaves it to the model, false switches it off, null sends nothing."""


class ClaudeFields(Section):
    """claude_chat."""

    claude_chat_route: Annotated[Literal["cli", "api", "auto"], Key(env=("CLAUDE_CHAT_ROUTE",))] = "cli"
    """How claude_chat asks: cli is the `claude` program with its login, api the Messages API with a key, auto the
    program where it is installed, else the API."""
    anthropic_base_url: Annotated[str, Key(env=("ANTHROPIC_BASE_URL",), change="any")] = "https://api.anthropic.com"
    """Endpoint of the api route, without `/v1`."""
    anthropic_api_key: Annotated[SecretStr, Key(env=("ANTHROPIC_API_KEY",), change="none")] = EMPTY
    """Key for `anthropic_base_url`; never sent to another endpoint."""
