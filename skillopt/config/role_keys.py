"""The keys of one provider family as a role sees them: its own value, else the shared one; a key with its endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import SecretStr

from skillopt.config.schema.model import ModelSection
from skillopt.core.errors import ConfigError

RoleName = Literal["optimizer", "target", "judge"]


@dataclass(frozen=True)
class RoleKeys:
    """The keys of one family (`qwen_chat`, `azure_openai` …) as one role sees them."""

    model: ModelSection
    role: RoleName
    family: str

    def value(self, name: str) -> object:
        """The role's value, or the shared one where the role names none."""
        own: Any = getattr(self.model, f"{self.role}_{self.family}_{name}", None)
        return getattr(self.model, f"{self.family}_{name}") if own is None or own == "" else own

    def account(self, address: str = "base_url") -> tuple[str, SecretStr]:
        """Endpoint and key, which always belong together."""
        own_url: str = getattr(self.model, f"{self.role}_{self.family}_{address}")
        own_key: SecretStr = getattr(self.model, f"{self.role}_{self.family}_api_key")
        shared_url: str = getattr(self.model, f"{self.family}_{address}")
        shared_key: SecretStr = getattr(self.model, f"{self.family}_api_key")
        elsewhere = own_url and self._names_shared(address) and own_url.rstrip("/") != shared_url.rstrip("/")
        return own_url or shared_url, own_key if own_key.get_secret_value() or elsewhere else shared_key

    def _names_shared(self, address: str) -> bool:
        """True when somebody named a shared endpoint; a default one owns no key that was given without it."""
        name = f"{self.family}_{address}"
        url: str = getattr(self.model, name)
        default: object = ModelSection.model_fields[name].default
        return bool(url) and (url != default or self.family == "anthropic")


def refuse_half_a_judge(model: ModelSection) -> None:
    """A judge's endpoint or key without `judge_backend` would be overlooked."""
    for name, info in ModelSection.model_fields.items():
        own = name.startswith("judge_") and name not in ("judge_backend", "judge_batch", "judge_endpoints")
        if own and getattr(model, name) != info.get_default(call_default_factory=True, validated_data={}):
            raise ConfigError(
                f"model.{name} is given, but model.judge_backend is not",
                hint="set model.judge_backend; without it the judge is reached as the optimizer is",
            )
