"""Section `model`: who optimizes, who is trained for, and how each backend is reached.

Each role (optimizer, target) has its own backend, model, endpoint and key; a role's own setting beats the shared one
and never reaches the other role. Adding a backend means adding its fields here and its row in `backends.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.agents import ClaudeCodeFields, CodexFields, HarnessFields, OtherAgentFields
from skillopt.config.schema.azure import AzureFields
from skillopt.config.schema.model_types import EMPTY, Effort, Seconds, Temperature, Tokens, role_variables
from skillopt.config.schema.providers import ClaudeFields, MinimaxFields
from skillopt.config.schema.qwen import QwenFields


def _compatible(variable: str) -> tuple[str, ...]:
    return (f"OPENAI_COMPATIBLE_{variable}",)


def _role_compatible(role: str, variable: str) -> tuple[str, ...]:
    return role_variables(role, f"OPENAI_COMPATIBLE_{variable}")


def _without_secrets(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options are written into the run directory, so a key among them is refused."""
    for name in options:
        if any(word in name.lower() for word in ("key", "token", "secret", "password")) and name != "max_tokens":
            raise ValueError(f"{name} looks like a credential: let the backend read it from the environment")
    return options


Options = Annotated[Mapping[str, Any], AfterValidator(_without_secrets)]


class RoleFields(Section):
    """Who optimizes and who is trained for."""

    backend: Annotated[str, Key(flat=("model_backend", "backend"), env=("REFLACT_MODEL_BACKEND",), change="none")] = (
        "openai_chat"
    )
    """Shorthand that sets the backend of both roles; a role's own key in the same layer beats it."""
    optimizer: Annotated[str, Key(flat=("optimizer_model",), env=role_variables("optimizer", "DEPLOYMENT"))] = ""
    """Model that reads trajectories and proposes edits; blank takes the backend's own default model."""
    target: Annotated[str, Key(flat=("target_model",), env=role_variables("target", "DEPLOYMENT"))] = ""
    """Frozen model that the skill is trained for; blank takes the backend's own default model."""
    optimizer_backend: Annotated[str, Key(env=role_variables("optimizer", "BACKEND"))] = "openai_chat"
    """Backend of the optimizer."""
    target_backend: Annotated[str, Key(env=role_variables("target", "BACKEND"))] = "openai_chat"
    """Backend of the target."""
    reasoning_effort: Effort | None = None
    """Reasoning effort sent with optimizer and target calls, blank for none; null means medium on openai_chat and
    nothing elsewhere, because many compatible servers refuse the parameter."""
    rewrite_reasoning_effort: Effort = ""
    """Reasoning effort of the call that rewrites the whole skill, blank for none whatever the other calls send."""
    rewrite_max_completion_tokens: Tokens = 64_000
    """Most tokens that a reply with a whole skill may have; a reply cut off there is not adopted."""


class CompatibleFields(Section):
    """openai_compatible."""

    openai_compatible_base_url: Annotated[str, Key(env=_compatible("BASE_URL"), change="any")] = ""
    """Endpoint of openai_compatible for both roles, up to and including `/v1`."""
    openai_compatible_api_key: Annotated[SecretStr, Key(env=_compatible("API_KEY"), change="none")] = EMPTY
    """Key of the compatible endpoint; blank for servers that need none."""
    openai_compatible_temperature: Annotated[Temperature | None, Key(env=_compatible("TEMPERATURE"))] = None
    """Sampling temperature where a stage or the environment sets none; null leaves the parameter out."""
    openai_compatible_max_tokens: Annotated[Tokens, Key(env=_compatible("MAX_TOKENS"))] = 8000
    """Upper bound for the completion tokens that any call may ask of the compatible endpoint."""
    openai_compatible_timeout_seconds: Annotated[Seconds, Key(env=_compatible("TIMEOUT_SECONDS"), change="any")] = 300
    """Seconds that one attempt at the compatible endpoint may take."""

    optimizer_openai_compatible_base_url: Annotated[
        str, Key(env=_role_compatible("optimizer", "BASE_URL"), change="any")
    ] = ""
    """Compatible endpoint of the optimizer; blank takes the shared one."""
    optimizer_openai_compatible_api_key: Annotated[
        SecretStr, Key(env=_role_compatible("optimizer", "API_KEY"), change="none")
    ] = EMPTY
    """Key of the optimizer's compatible endpoint; blank takes the shared one while the endpoint is shared too."""
    optimizer_openai_compatible_temperature: Annotated[
        Temperature | None, Key(env=_role_compatible("optimizer", "TEMPERATURE"))
    ] = None
    """Temperature of the optimizer on the compatible endpoint; null takes the shared one."""
    optimizer_openai_compatible_max_tokens: Annotated[
        Tokens | None, Key(env=_role_compatible("optimizer", "MAX_TOKENS"))
    ] = None
    """Completion bound of the optimizer on the compatible endpoint; null takes the shared one."""
    optimizer_openai_compatible_timeout_seconds: Annotated[
        Seconds | None, Key(env=_role_compatible("optimizer", "TIMEOUT_SECONDS"), change="any")
    ] = None
    """Seconds per attempt of the optimizer on the compatible endpoint; null takes the shared one."""

    target_openai_compatible_base_url: Annotated[str, Key(env=_role_compatible("target", "BASE_URL"), change="any")] = (
        ""
    )
    """Compatible endpoint of the target; blank takes the shared one."""
    target_openai_compatible_api_key: Annotated[
        SecretStr, Key(env=_role_compatible("target", "API_KEY"), change="none")
    ] = EMPTY
    """Key of the target's compatible endpoint; blank takes the shared one while the endpoint is shared too."""
    target_openai_compatible_temperature: Annotated[
        Temperature | None, Key(env=_role_compatible("target", "TEMPERATURE"))
    ] = None
    """Temperature of the target on the compatible endpoint; null takes the shared one."""
    target_openai_compatible_max_tokens: Annotated[Tokens | None, Key(env=_role_compatible("target", "MAX_TOKENS"))] = (
        None
    )
    """Completion bound of the target on the compatible endpoint; null takes the shared one."""
    target_openai_compatible_timeout_seconds: Annotated[
        Seconds | None, Key(env=_role_compatible("target", "TIMEOUT_SECONDS"), change="any")
    ] = None
    """Seconds per attempt of the target on the compatible endpoint; null takes the shared one."""


class ModelSection(  # the bases' fields come first, the last base's at the very beginning
    OtherAgentFields,
    ClaudeCodeFields,
    CodexFields,
    HarnessFields,
    ClaudeFields,
    MinimaxFields,
    QwenFields,
    CompatibleFields,
    AzureFields,
    RoleFields,
):
    """Backends, models, endpoints and credentials."""

    local_model: str = "qwen2.5-coder-1.5b"
    """Embedded model of the local backend: a name of the catalogue or a path to a .gguf file."""
    local_base_url: Annotated[str, Key(change="any")] = ""
    """A local engine that already runs; blank starts one as a child process and ends it with the run."""
    local_threads: Annotated[int, Field(ge=0), Key(change="any")] = 0
    """Threads of the engine; 0 takes the machine's cores."""
    local_context: Annotated[int, Field(ge=512)] = 8192
    """Context size per request of the engine, in tokens."""

    scripted_script: str = ""
    """Script of the scripted backend, a .yaml or .py file; blank takes the built-in toy behaviour."""

    shared_cache: Annotated[str, Key(change="any")] = ""
    """Journal file shared by several runs, looked up before a model is called; blank for none."""
    prices: Annotated[str, Key(change="any")] = ""
    """YAML file with prices that override the shipped table; blank for none."""
    backend_options: Options = Field(default_factory=dict[str, Any])
    """Settings of a plugin backend for both roles, handed to it as they are; a credential is refused here."""
    optimizer_backend_options: Options = Field(default_factory=dict[str, Any])
    """Settings of the optimizer's plugin backend, laid over the shared ones."""
    target_backend_options: Options = Field(default_factory=dict[str, Any])
    """Settings of the target's plugin backend, laid over the shared ones."""
