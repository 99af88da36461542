"""Names of backends: aliases, the `backend` shorthand and each backend's own default model. The only such mapping.

An alias is resolved before anything else looks at a name. A name that is not ours may be a plugin's: an entry point of
the group `skillopt.backends`, of which only the name is read here. A known backend that this version lacks is refused
with one line; an unknown name is an error with the nearest one.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.config.suggestions import nearest
from skillopt.config.unsupported_keys import NOT_BUILT
from skillopt.core.errors import ConfigError
from skillopt.core.plugins import entry_points

GROUP = "skillopt.backends"
AGENTS = ("codex_exec", "claude_code_exec", "copilot_exec", "opencode_exec", "qwen_exec", "gemini_exec", "pi_exec")
"""Agent CLIs: they solve a task in a workspace, so they are targets. As an optimizer, codex_exec answers plainly."""

_CHATS = (
    "openai_chat",
    "openai_compatible",
    "claude_chat",
    "qwen_chat",
    "minimax_chat",
    "copilot_chat",
    "local",
    "scripted",
)
AVAILABLE = (*_CHATS, *AGENTS)
"""Backends of our own that a role may name in this version."""

HELD = "python"
"""A model that a Python program holds: `skillopt.optimize(target=<object>)` writes it, nobody else can use it."""

ALIASES = {
    # The same backend: an Azure endpoint, not a name, makes it speak to Azure.
    "azure": "openai_chat",
    "azure-openai": "openai_chat",
    "azure_openai": "openai_chat",
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


_TARGET_ONLY = ("qwen_chat", "minimax_chat", *(name for name in AGENTS if name != "codex_exec"))
"""As a shorthand these leave the optimizer with openai_chat; a role may still name them."""


def shorthand(name: str) -> Shorthand:
    """What `backend: name` stands for, a canonical name."""
    return Shorthand("openai_chat" if name in _TARGET_ONLY else name, name)


def plugin_names() -> tuple[str, ...]:
    """Installed backends that are not ours, sorted; nothing is imported."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)} - set(AVAILABLE)))


def canonical(name: object, *, key: str, where: str) -> str:
    """The backend that `name` means. Raises `ConfigError` naming key and place when there is no such backend."""
    text = str(name).strip()
    low = text.lower()
    resolved = ALIASES.get(low, low)
    if resolved in (*AVAILABLE, HELD):
        return resolved
    plugins = plugin_names()
    if text in plugins:
        return text
    hint = f"available: {', '.join((*AVAILABLE, *plugins))}"
    if resolved in NOT_BUILT.backends:
        raise ConfigError(f"{key}={text} ({where}): the backend {resolved} is not available in this version", hint=hint)
    raise ConfigError(
        f"{key}={text} ({where}): unknown backend{nearest(low, (*AVAILABLE, *ALIASES, *plugins))}", hint=hint
    )


def default_model(backend: str, *, local_model: str, minimax_model: str = "") -> str:
    """The model a role gets when none is given; blank leaves it to a plugin."""
    return {
        "openai_chat": "gpt-5.5",
        "openai_compatible": "gpt-4o-mini",
        "claude_chat": "claude-sonnet-4-6",
        "codex_exec": "gpt-5.5",
        "claude_code_exec": "claude-sonnet-4-6",
        "qwen_chat": "Qwen/Qwen3.5-4B",
        "minimax_chat": minimax_model or "MiniMax-M3",
        "local": local_model,
        "scripted": "scripted",
    }.get(backend, "")
