"""The cli route of claude_chat: the `claude` program with its own login (`model.cli_chat`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillopt.model.providers.cli_chat import create_claude
from skillopt.model.types import Backend


def create(settings: Mapping[str, Any]) -> Backend:
    """Backend from a role's settings."""
    return create_claude(settings)
