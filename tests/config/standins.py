"""Two stand-in environments, so that configuration tests need no other floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr


class PlainSettings(BaseModel):
    """An environment with one key of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    context_chars: int = 6000


class RichSettings(BaseModel):
    """An environment with every shape of key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt_template: str = "{{ question }}"
    note: str | None = None
    fields: tuple[str, ...] = ()
    scorer: Mapping[str, Any] = {"name": "exact"}
    token: SecretStr = SecretStr("")
    shuffle: bool = False


SCHEMAS: dict[str, type[BaseModel]] = {"plain": PlainSettings, "rich": RichSettings}
