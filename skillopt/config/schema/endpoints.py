"""One of several endpoints that serve a role together: `model.endpoints`, or `{role}_endpoints` for one role."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from skillopt.config.keys import Section


class EndpointEntry(Section):
    """An entry of the list. It has the role's backend and settings, and what it names itself."""

    url: Annotated[str, Field(min_length=1)]
    """Its address, as the backend's base URL."""
    weight: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    """Its share of the prompts that begin differently, beside the other weights."""
    key_env: str = ""
    """The environment variable that holds its key; blank for none."""
    model: str = ""
    """The model's name there; blank takes the role's. Endpoints with different models are one model to the journal: the
    list of them."""
    width: Annotated[int, Field(ge=0)] = 0
    """Calls in flight there at most; 0 takes `env.workers` (analysts: `gradient.analyst_workers`)."""
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Its limit, where it has one."""
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    """Its limit, where it has one."""

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        """A key itself would be written into the run directory."""
        if value and not value.replace("_", "a").isalnum():
            raise ValueError("key_env is the name of an environment variable, not a key")
        if len(value) > 64 or value.lower().startswith("sk"):
            raise ValueError("key_env looks like a key: give the name of the environment variable that holds it")
        return value
