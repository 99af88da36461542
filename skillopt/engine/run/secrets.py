"""Every credential that this process knows, so that none of them reaches a file, an event, a line or an error.

The configuration's keys, whichever role they belong to, and what the environment holds under a secret's name: a reply
or a server's error may echo any of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from skillopt.config import ModelSection
from skillopt.core.redact import environment_secrets

_LEAST_MIXED = 12
_LEAST = 16


def known_secrets(model: ModelSection, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Distinct values, in a fixed order."""
    values = (getattr(model, name) for name in type(model).model_fields)
    given = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    return tuple(dict.fromkeys(secret for secret in (*given, *environment_secrets(environ)) if secret))


def certain(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Those that no reply can hold by chance: short dummies (`ollama`, `EMPTY`) are words of prose."""
    return tuple(
        s for s in secrets if len(s) >= _LEAST or (len(s) >= _LEAST_MIXED and any(char.isdigit() for char in s))
    )
