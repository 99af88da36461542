"""Types and names that the parts of section `model` share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

Effort = Literal["", "low", "medium", "high", "xhigh", "max"]
Seconds = Annotated[int | float, Field(gt=0)]
Temperature = Annotated[int | float, Field(ge=0, le=2)]
Tokens = Annotated[int, Field(ge=1)]

EMPTY = SecretStr("")
_OLDER = {"optimizer": "teacher", "target": "student"}


def role_variables(role: str, variable: str) -> tuple[str, ...]:
    """A role's variable under the role's name and, where it has one, under its older name."""
    return tuple(f"{word.upper()}_{variable}" for word in (role, _OLDER.get(role)) if word)


def azure_role_variables(role: str, variable: str) -> tuple[str, ...]:
    """A role's Azure variable: both orders of its words, and the older name."""
    return (*role_variables(role, f"AZURE_OPENAI_{variable}"), f"AZURE_OPENAI_{role.upper()}_{variable}")
