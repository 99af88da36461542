"""The backends that the contract holds for. A new backend is one `Case` here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.model.registry import create_backend
from skillopt.model.types import Backend

from .anthropic_protocol import MessagesProtocol
from .openai_protocol import (
    AzureProtocol,
    ChatProtocol,
    LlamaProtocol,
    MinimaxProtocol,
    ResponsesProtocol,
    VllmProtocol,
)
from .server import KEY, MODEL, Protocol


@dataclass(frozen=True)
class Case:
    """One backend: its entry point, the settings that a role would have, and the protocol of its provider.

    `path` is what follows the server's root in the base URL. `native_schema`, `effort` and `temperature` say what the
    provider's protocol has a field for; what it lacks must reach the model in another way, or not at all.
    """

    name: str
    entry: str
    protocol: Callable[..., Protocol]
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: str = "/v1"
    keyed: bool = True
    native_schema: bool = True
    effort: bool = True
    temperature: bool = True
    refusable: str = "temperature"
    """A parameter that some of the provider's models do not take."""
    model: str = MODEL

    def backend(self, root: str, **more: Any) -> Backend:
        """The backend as a run would make it, at the server `root`."""
        given: dict[str, Any] = {
            "model": self.model,
            "base_url": f"{root}{self.path}",
            "api_key": KEY if self.keyed else "",
            "timeout_seconds": 20.0,
            "max_tokens": None,
            **self.settings,
            **more,
        }
        return create_backend(self.entry, given)


CLAUDE = {"route": "api"}
AZURE = {"auth_mode": "api_key", "api_version": "2024-12-01-preview"}

CASES = [
    Case("openai", "openai_chat", ChatProtocol),
    Case("azure", "openai_chat", AzureProtocol, AZURE, path=""),
    Case("compatible", "openai_compatible", ChatProtocol),
    Case("responses", "openai_chat", ResponsesProtocol),
    Case(
        "anthropic", "claude_chat", MessagesProtocol, {"route": "api"}, path="", temperature=False, refusable="effort"
    ),
    Case("qwen", "qwen_chat", VllmProtocol, {"thinking": "disabled", "temperature": 0.7}),
    Case("minimax", "minimax_chat", MinimaxProtocol, {"thinking": "disabled"}, native_schema=False, effort=False),
    Case("local", "local", LlamaProtocol, keyed=False, effort=True, model=""),
]
