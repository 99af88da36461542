"""How one role reaches its model: the part of the configuration that the model floor is given.

The role's own setting beats the shared one. A key is sent only to the endpoint it was given for: `openai_api_key` to
`openai_base_url`, a shared compatible key to the shared compatible endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from pydantic import SecretStr

from skillopt.config.schema_model import ModelSection

RoleName = Literal["optimizer", "target"]
T = TypeVar("T")


@dataclass(frozen=True)
class RoleSettings:
    """Everything needed to build the backend of one role. `backend` is one of `backends.AVAILABLE`.

    For openai_chat and openai_compatible, `base_url` is never blank. `max_tokens` bounds what a call may ask for (None:
    no bound); `temperature` holds where the request names none; `timeout_seconds` covers one attempt.
    """

    role: RoleName
    backend: str
    model: str
    base_url: str = ""
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_seconds: float = 300
    reasoning_effort: str = ""
    local_threads: int = 0
    local_context: int = 8192
    scripted_script: str = ""

    @property
    def provider(self) -> str:
        """Name of the backend's implementation: openai_chat is the compatible one at OpenAI's endpoint."""
        return "openai_compatible" if self.backend == "openai_chat" else self.backend

    def as_mapping(self) -> dict[str, Any]:
        """The settings under their names, for a backend's `create`."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def role_settings(model: ModelSection, role: RoleName) -> RoleSettings:
    """The settings of one role, shared values filled in."""
    backend: str = getattr(model, f"{role}_backend")
    name: str = getattr(model, role)
    effort = model.reasoning_effort
    if backend == "openai_chat":
        return RoleSettings(
            role=role,
            backend=backend,
            model=name,
            base_url=model.openai_base_url,
            api_key=model.openai_api_key,
            reasoning_effort="medium" if effort is None else effort,
        )
    if backend == "openai_compatible":
        base_url, api_key = _compatible_account(model, role)
        return RoleSettings(
            role=role,
            backend=backend,
            model=name,
            base_url=base_url,
            api_key=api_key,
            temperature=_own(model, role, "temperature", model.openai_compatible_temperature),
            max_tokens=_own(model, role, "max_tokens", model.openai_compatible_max_tokens),
            timeout_seconds=_own(model, role, "timeout_seconds", model.openai_compatible_timeout_seconds),
            reasoning_effort=effort or "",
        )
    if backend == "local":
        return RoleSettings(
            role=role,
            backend=backend,
            model=name,
            base_url=model.local_base_url,
            local_threads=model.local_threads,
            local_context=model.local_context,
        )
    return RoleSettings(role=role, backend=backend, model=name, scripted_script=model.scripted_script)


def _own(model: ModelSection, role: RoleName, name: str, shared: T) -> T:
    value: Any = getattr(model, f"{role}_openai_compatible_{name}")
    return shared if value is None else value


def _compatible_account(model: ModelSection, role: RoleName) -> tuple[str, SecretStr]:
    """Endpoint and key, which always come from one place. Without any endpoint it is the one of openai_chat."""
    own_url: str = getattr(model, f"{role}_openai_compatible_base_url")
    own_key: SecretStr = getattr(model, f"{role}_openai_compatible_api_key")
    shared_url, shared_key = model.openai_compatible_base_url, model.openai_compatible_api_key
    if own_url and own_url != shared_url:
        return own_url, own_key
    if shared_url:
        return shared_url, own_key if own_key.get_secret_value() else shared_key
    named = next((key for key in (own_key, shared_key) if key.get_secret_value()), model.openai_api_key)
    return model.openai_base_url, named
