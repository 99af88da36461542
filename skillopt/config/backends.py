"""Names of backends: aliases, the `backend` shorthand and each backend's own default model. The only such mapping.

An alias is resolved before anything else looks at a name. A known backend that this version lacks is refused with one
line; an unknown name is an error with the nearest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillopt.config.near import nearest
from skillopt.config.not_built import NOT_BUILT
from skillopt.core.errors import ConfigError

AVAILABLE = ("openai_chat", "openai_compatible", "local", "scripted")
"""Backends that a role may name in this version."""

ALIASES = {
    "azure": "azure_openai",
    "azure-openai": "azure_openai",
    "openai": "openai_chat",
    "codex": "codex_exec",
    "claude": "claude_chat",
    "anthropic": "claude_chat",
    "cursor": "cursor_exec",
    "cursor_agent": "cursor_exec",
    "copilot": "copilot_chat",
    "copilot_cli": "copilot_chat",
    "github_copilot": "copilot_chat",
    "qwen": "qwen_chat",
    "minimax": "minimax_chat",
    "openai-compatible": "openai_compatible",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
}

STOCK_MODELS = ("gpt-5.4", "gpt-5.5")
"""Defaults that older files wrote out; a backend chosen above such a file replaces them by its own default."""


@dataclass(frozen=True)
class Shorthand:
    """What `model.backend` stands for."""

    optimizer: str
    target: str


SHORTHANDS = {name: Shorthand(name, name) for name in AVAILABLE}


def canonical(name: Any, *, key: str, where: str) -> str:
    """The backend that `name` means. Raises `ConfigError` naming key and place when there is no such backend."""
    text = str(name).strip()
    low = text.lower()
    resolved = ALIASES.get(low, low)
    if resolved in AVAILABLE:
        return resolved
    hint = f"available: {', '.join(AVAILABLE)}"
    if resolved in NOT_BUILT.backends:
        raise ConfigError(f"{key}={text} ({where}): the backend {resolved} is not available in this version", hint=hint)
    raise ConfigError(f"{key}={text} ({where}): unknown backend{nearest(low, (*AVAILABLE, *ALIASES))}", hint=hint)


def default_model(backend: str, *, local_model: str) -> str:
    """The model a role gets when none is given."""
    return {
        "openai_chat": "gpt-5.5",
        "openai_compatible": "gpt-4o-mini",
        "local": local_model,
        "scripted": "scripted",
    }[backend]
