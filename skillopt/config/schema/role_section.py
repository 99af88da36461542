"""What each role (optimizer, target, judge) may set for itself: one class, from which the keys of all roles are made.

A field `qwen_chat_base_url` becomes `optimizer_qwen_chat_base_url`, `target_…` and `judge_…`; `{role}` in a description
stands for the role, and each environment variable gets the role's word in front. Blank or null takes the shared value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, SecretStr, create_model
from pydantic.fields import FieldInfo

from skillopt.config.keys import Key, Section
from skillopt.config.schema.azure import AUTH_MODES, AuthMode
from skillopt.config.schema.endpoints import EndpointEntry
from skillopt.config.schema.model_types import EMPTY, Seconds, Temperature, Tokens, azure_role_variables, role_variables
from skillopt.config.schema.qwen import ThinkingMode

ROLES = ("optimizer", "target", "judge")
_AZURE = "AZURE_OPENAI_"


def without_secrets(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options are written into the run directory, so a key among them is refused."""
    for name in options:
        if any(word in name.lower() for word in ("key", "token", "secret", "password")) and name != "max_tokens":
            raise ValueError(f"{name} looks like a credential: let the backend read it from the environment")
    return options


Options = Annotated[Mapping[str, Any], AfterValidator(without_secrets)]


class RoleSection(Section):
    """The keys of one role, without its name. A variable is written without the role's word."""

    batch: Annotated[Literal["", "never", "sets", "all"], Key(change="any")] = ""
    """Which calls of the {role} go to the provider's batch API: never, sets or all; blank takes `batch`."""
    endpoints: Annotated[list[EndpointEntry], Key(change="any")] = Field(default_factory=list[EndpointEntry])
    """Several endpoints that serve the {role} together, each `{url, weight, key_env, model, width, requests_per_minute,
    tokens_per_minute}`; empty takes `endpoints`."""

    azure_openai_endpoint: Annotated[str, Key(env=("AZURE_OPENAI_ENDPOINT",), change="any")] = ""
    """Azure endpoint of the {role}, `https://<resource>.openai.azure.com`; blank takes the shared one."""
    azure_openai_api_version: Annotated[str, Key(env=("AZURE_OPENAI_API_VERSION",), change="any")] = ""
    """API version of the {role} sent to Azure; blank takes the shared one."""
    azure_openai_api_key: Annotated[SecretStr, Key(env=("AZURE_OPENAI_API_KEY",), change="none")] = EMPTY
    """Key of the Azure endpoint of the {role}; blank takes the shared one while the endpoint is shared too."""
    azure_openai_auth_mode: Annotated[
        AuthMode, Key(env=("AZURE_OPENAI_AUTH_MODE",), change="any", values=AUTH_MODES)
    ] = ""
    """How the {role} signs in to Azure; blank is api_key when there is a key, else azure_cli, after the shared mode."""
    azure_openai_ad_scope: Annotated[str, Key(env=("AZURE_OPENAI_AD_SCOPE",), change="any")] = ""
    """Scope that tokens of the {role} are asked for; blank takes the shared one."""
    azure_openai_managed_identity_client_id: Annotated[
        str, Key(env=("AZURE_OPENAI_MANAGED_IDENTITY_CLIENT_ID",), change="any")
    ] = ""
    """Client id of a user-assigned managed identity of the {role}; blank takes the shared one."""

    openai_compatible_base_url: Annotated[str, Key(env=("OPENAI_COMPATIBLE_BASE_URL",), change="any")] = ""
    """Compatible endpoint of the {role}; blank takes the shared one."""
    openai_compatible_api_key: Annotated[SecretStr, Key(env=("OPENAI_COMPATIBLE_API_KEY",), change="none")] = EMPTY
    """Key of the compatible endpoint of the {role}; blank takes the shared one while the endpoint is shared too."""
    openai_compatible_temperature: Annotated[Temperature | None, Key(env=("OPENAI_COMPATIBLE_TEMPERATURE",))] = None
    """Temperature of the {role} on the compatible endpoint; null takes the shared one."""
    openai_compatible_max_tokens: Annotated[Tokens | None, Key(env=("OPENAI_COMPATIBLE_MAX_TOKENS",))] = None
    """Completion bound of the {role} on the compatible endpoint; null takes the shared one."""
    openai_compatible_timeout_seconds: Annotated[
        Seconds | None, Key(env=("OPENAI_COMPATIBLE_TIMEOUT_SECONDS",), change="any")
    ] = None
    """Seconds per attempt of the {role} on the compatible endpoint; null takes the shared one."""

    qwen_chat_base_url: Annotated[str, Key(env=("QWEN_CHAT_BASE_URL",), change="any")] = ""
    """Endpoint of qwen_chat of the {role}, a vLLM or SGLang server, up to and including `/v1`; blank takes the shared
    one."""
    qwen_chat_api_key: Annotated[SecretStr, Key(env=("QWEN_CHAT_API_KEY",), change="none")] = EMPTY
    """Key of the Qwen endpoint of the {role}; blank takes the shared one while the endpoint is shared too."""
    qwen_chat_temperature: Annotated[
        Temperature | Literal["none", "off"] | None, Key(env=("QWEN_CHAT_TEMPERATURE",))
    ] = None
    """Sampling temperature of qwen_chat of the {role} where a stage sets none; none or off leaves it out, null takes
    the shared one."""
    qwen_chat_timeout_seconds: Annotated[Seconds | None, Key(env=("QWEN_CHAT_TIMEOUT_SECONDS",), change="any")] = None
    """Seconds that one attempt of the {role} at the Qwen endpoint may take; null takes the shared one."""
    qwen_chat_max_tokens: Annotated[Tokens | None, Key(env=("QWEN_CHAT_MAX_TOKENS",))] = None
    """Upper bound for the completion tokens that any call of the {role} may ask of the Qwen endpoint; null takes the
    shared one."""
    qwen_chat_enable_thinking: Annotated[bool | None, Key(env=("QWEN_CHAT_ENABLE_THINKING",))] = None
    """Older form of the thinking mode of the {role}: true is enabled, false sends nothing; null is not set."""
    qwen_chat_thinking_mode: Annotated[ThinkingMode, Key(env=("QWEN_CHAT_THINKING_MODE",))] = ""
    """Thinking of the {role}: server_default sends nothing, enabled and disabled say so to the server; blank is not
    set."""
    qwen_chat_use_max_completion_tokens: Annotated[bool | None, Key(env=("QWEN_CHAT_USE_MAX_COMPLETION_TOKENS",))] = (
        None
    )
    """Send the completion bound of the {role} as max_completion_tokens in place of max_tokens; null takes the shared
    one."""

    minimax_base_url: Annotated[str, Key(env=("MINIMAX_BASE_URL",), change="any")] = ""
    """MiniMax endpoint of the {role}; blank takes the shared one."""
    minimax_api_key: Annotated[SecretStr, Key(env=("MINIMAX_API_KEY",), change="none")] = EMPTY
    """MiniMax key of the {role}; blank takes the shared one while the endpoint is shared too."""
    anthropic_base_url: Annotated[str, Key(env=("ANTHROPIC_BASE_URL",), change="any")] = ""
    """Anthropic endpoint of the {role}; blank takes the shared one."""
    anthropic_api_key: Annotated[SecretStr, Key(env=("ANTHROPIC_API_KEY",), change="none")] = EMPTY
    """Anthropic key of the {role}; blank takes the shared one while the endpoint is shared too."""
    backend_options: Options = Field(default_factory=dict[str, Any])
    """Settings of the plugin backend of the {role}, laid over the shared ones."""


def for_roles(section: type[Section]) -> type[Section]:
    """A section with the fields of `section` for every role."""
    made: dict[str, Any] = {
        f"{role}_{name}": _field(info, role) for role in ROLES for name, info in section.model_fields.items()
    }
    return create_model("PerRole", __base__=Section, **made)


def _field(info: FieldInfo, role: str) -> tuple[Any, Any]:
    """Type and default of one role's key, with its variables and its description."""
    marks = [replace(m, env=_variables(role, m.env)) if isinstance(m, Key) else m for m in info.metadata]
    plain: Any = info.annotation
    annotation = cast("Any", Annotated)[(plain, *marks)] if marks else plain
    description = (info.description or "").replace("{role}", role)
    if info.default_factory is not None:
        return annotation, Field(default_factory=cast("Any", info.default_factory), description=description)
    return annotation, Field(default=info.default, description=description)


def _variables(role: str, plain: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for variable in plain:
        if variable.startswith(_AZURE):
            found += azure_role_variables(role, variable.removeprefix(_AZURE))
        else:
            found += role_variables(role, variable)
    return tuple(found)


if TYPE_CHECKING:

    class PerRole(Section):
        """The keys of all roles; read with `getattr` by role and name."""

else:
    PerRole = for_roles(RoleSection)
