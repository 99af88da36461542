"""The cli route of claude_chat: the `claude` program with its own login (`model.cli_chat`)."""

from __future__ import annotations

from skillopt.model.providers.cli_chat import create_claude
from skillopt.model.types import Backend, BackendSettings


def create(settings: BackendSettings) -> Backend:
    """Backend from a role's settings."""
    return create_claude(settings)
