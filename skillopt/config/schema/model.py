"""Section `model`: who optimizes, who is trained for, who judges, and how each backend is reached.

Each role (optimizer, target, judge) has its own backend, model, endpoint and key (`role_section`); a role's own setting
beats the shared one and never reaches another role. Adding a backend means adding its fields and its row in `backends`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.agents import ClaudeCodeFields, CodexFields, HarnessFields, OtherAgentFields
from skillopt.config.schema.azure import AzureFields
from skillopt.config.schema.batch import BatchFields
from skillopt.config.schema.endpoints import EndpointEntry
from skillopt.config.schema.model_types import EMPTY, Effort, Seconds, Temperature, Tokens, role_variables
from skillopt.config.schema.providers import ClaudeFields, MinimaxFields
from skillopt.config.schema.qwen import QwenFields
from skillopt.config.schema.role_section import Options, PerRole


def _compatible(variable: str) -> tuple[str, ...]:
    return (f"OPENAI_COMPATIBLE_{variable}",)


class RoleFields(Section):
    """Who optimizes, who is trained for and who judges."""

    backend: Annotated[str, Key(flat=("model_backend", "backend"), env=("REFLACT_MODEL_BACKEND",), change="none")] = (
        "openai_chat"
    )
    """Shorthand that sets the backend of both roles; a role's own key in the same layer beats it."""
    optimizer: Annotated[str, Key(flat=("optimizer_model",), env=role_variables("optimizer", "DEPLOYMENT"))] = ""
    """Model that reads trajectories and proposes edits; blank takes the backend's own default model."""
    target: Annotated[str, Key(flat=("target_model",), env=role_variables("target", "DEPLOYMENT"))] = ""
    """Frozen model that the skill is trained for; blank takes the backend's own default model."""
    judge: Annotated[str, Key(flat=("judge_model",), env=role_variables("judge", "DEPLOYMENT"))] = ""
    """Model that judges answers where the scorer asks one; blank takes the optimizer's, or, with a backend of its own,
    that backend's default model."""
    optimizer_backend: Annotated[str, Key(env=role_variables("optimizer", "BACKEND"))] = "openai_chat"
    """Backend of the optimizer."""
    target_backend: Annotated[str, Key(env=role_variables("target", "BACKEND"))] = "openai_chat"
    """Backend of the target."""
    judge_backend: Annotated[str, Key(env=role_variables("judge", "BACKEND"))] = ""
    """Backend of the judge; blank takes the optimizer's, endpoint and key included."""
    reasoning_effort: Effort | None = None
    """Reasoning effort sent with optimizer and target calls, blank for none; null means medium on openai_chat and
    nothing elsewhere, because many compatible servers refuse the parameter."""
    rewrite_reasoning_effort: Effort = ""
    """Reasoning effort of the call that rewrites the whole skill, blank for none whatever the other calls send."""
    rewrite_max_completion_tokens: Tokens = 64_000
    """Most tokens that a reply with a whole skill may have; a reply cut off there is not adopted."""


class PoolFields(Section):
    """Several endpoints for one model."""

    endpoints: Annotated[list[EndpointEntry], Key(change="any")] = Field(default_factory=list[EndpointEntry])
    """Several endpoints that serve all roles together, in place of the backend's base URL, each `{url, weight, key_env,
    model, width, requests_per_minute, tokens_per_minute}`; calls go round an endpoint that is down."""


class CompatibleFields(Section):
    """openai_compatible."""

    openai_compatible_base_url: Annotated[str, Key(env=_compatible("BASE_URL"), change="any")] = ""
    """Endpoint of openai_compatible for all roles, up to and including `/v1`."""
    openai_compatible_api_key: Annotated[SecretStr, Key(env=_compatible("API_KEY"), change="none")] = EMPTY
    """Key of the compatible endpoint; blank for servers that need none."""
    openai_compatible_temperature: Annotated[Temperature | None, Key(env=_compatible("TEMPERATURE"))] = None
    """Sampling temperature where a stage or the environment sets none; null leaves the parameter out."""
    openai_compatible_max_tokens: Annotated[Tokens, Key(env=_compatible("MAX_TOKENS"))] = 8000
    """Upper bound for the completion tokens that any call may ask of the compatible endpoint."""
    openai_compatible_timeout_seconds: Annotated[Seconds, Key(env=_compatible("TIMEOUT_SECONDS"), change="any")] = 300
    """Seconds that one attempt at the compatible endpoint may take."""


class ModelSection(  # the bases' fields come first, the last base's at the very beginning
    PerRole,
    BatchFields,
    PoolFields,
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
    """Script of the scripted backend: a .yaml or .py file, or module:function; blank takes the built-in toy."""

    shared_cache: Annotated[str, Key(change="any")] = ""
    """Journal file or `postgresql://` address shared by several runs, looked up before a model is called; blank for
    none."""
    prices: Annotated[str, Key(change="any")] = ""
    """YAML file with prices that override the shipped table; blank for none."""
    backend_options: Options = Field(default_factory=dict[str, Any])
    """Settings of a plugin backend for all roles, handed to it as they are; a credential is refused here."""
