"""How one role reaches its model: the part of the configuration that the model floor is given.

The role's own setting beats the shared one. A key is sent only to the endpoint it was given for: a shared key belongs
to the shared endpoint, and goes to a role's own endpoint only where no shared one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pydantic import SecretStr

from skillopt.config.role_keys import RoleKeys, RoleName, refuse_half_a_judge
from skillopt.config.schema.endpoints import EndpointEntry
from skillopt.config.schema.model import ModelSection
from skillopt.core.errors import ConfigError
from skillopt.core.redact import redact

MINIMAX_REGIONS = {"global_en": "https://api.minimax.io/v1", "cn_zh": "https://api.minimaxi.com/v1"}
_OPENAI_EFFORT = "medium"


@dataclass(frozen=True)
class EndpointSettings:
    """One of the endpoints that serve a role together; `width` 0 takes the role's."""

    url: str = field(repr=False)
    weight: float = 1.0
    key_env: str = ""
    model: str = ""
    width: int = 0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True)
class RoleSettings:
    """Everything needed to build the backend of one role. `backend` is a name that `backends.canonical` gives.

    `max_tokens` bounds what a call may ask for (None: no bound); `temperature` holds where the request names none;
    `timeout_seconds` covers one attempt. `auth_mode` is blank for a plain OpenAI endpoint. `thinking` is enabled,
    disabled or blank for the server's own way. `options` are a plugin's. `batch` says which calls go to a batch API.
    """

    role: RoleName
    backend: str
    model: str
    base_url: str = field(default="", repr=False)  # an address may hold a password
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_seconds: float = 300
    reasoning_effort: str = ""
    auth_mode: str = ""
    api_version: str = ""
    ad_scope: str = ""
    managed_identity_client_id: str = ""
    thinking: str = ""
    use_max_completion_tokens: bool = True
    route: str = ""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    local_threads: int = 0
    local_context: int = 8192
    scripted_script: str = ""
    batch: str = "never"
    endpoints: tuple[EndpointSettings, ...] = ()

    def as_mapping(self) -> dict[str, object]:
        """The settings under their names, for a backend's `create`."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def role_settings(model: ModelSection, role: RoleName) -> RoleSettings:
    """The settings of one role, shared values filled in. A judge without a backend of its own is reached as the
    optimizer is; `model.judge` may name another model there."""
    if role == "judge" and not model.judge_backend:
        refuse_half_a_judge(model)
        optimizer = role_settings(model, "optimizer")
        judge = replace(optimizer, role=role, model=model.judge or optimizer.model, batch=_batch(model, role))
        return _with_endpoints(judge, model)
    backend: str = getattr(model, f"{role}_backend")
    effort = model.reasoning_effort
    plain = RoleSettings(
        role=role,
        backend=backend,
        model=getattr(model, role),
        reasoning_effort=effort or "",
        batch=_batch(model, role),
    )
    build = _BUILDERS.get(backend, _plugin)
    return _with_endpoints(build(plain, model), model)


def at_endpoint(settings: RoleSettings, entry: EndpointSettings, environ: Mapping[str, str]) -> RoleSettings:
    """A role's settings at one of its endpoints, with that endpoint's key. Raises `ConfigError` where it is not set."""
    key = environ.get(entry.key_env, "") if entry.key_env else ""
    if entry.key_env and not key:
        raise ConfigError(
            f"the {settings.role}'s endpoint {redact(entry.url)}: the environment has no {entry.key_env}",
            hint="set it, or leave key_env blank for an endpoint without a key",
        )
    return replace(
        settings, base_url=entry.url, api_key=SecretStr(key), model=entry.model or settings.model, endpoints=()
    )


_POOLED = ("openai_chat", "openai_compatible", "qwen_chat", "minimax_chat", "claude_chat")


def _with_endpoints(settings: RoleSettings, model: ModelSection) -> RoleSettings:
    """The role's own list of endpoints, or the shared one where its backend asks an address."""
    own: list[EndpointEntry] = getattr(model, f"{settings.role}_endpoints")
    found = own or model.endpoints
    able = settings.backend in _POOLED and not settings.auth_mode
    able = able and (settings.backend != "claude_chat" or settings.route == "api")
    if own and not able:
        raise ConfigError(
            f"model.{settings.role}_endpoints: {settings.backend} asks no address that could be given",
            hint="choose openai_compatible, openai_chat without Azure, qwen_chat, minimax_chat or claude_chat by key",
        )
    if not found or not able:
        return settings
    places = [(entry.url.rstrip("/"), entry.model) for entry in found]
    if len(set(places)) < len(places):
        raise ConfigError(f"model.{settings.role}_endpoints: an address is listed twice", hint="give it more weight")
    return replace(settings, endpoints=tuple(EndpointSettings(**entry.model_dump()) for entry in found))


def _batch(model: ModelSection, role: RoleName) -> str:
    own: str = getattr(model, f"{role}_batch")
    return own or model.batch


def _openai_chat(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    keys = RoleKeys(model, plain.role, "azure_openai")
    endpoint, key = keys.account("endpoint")
    mode = str(keys.value("auth_mode"))
    effort = _OPENAI_EFFORT if model.reasoning_effort is None else model.reasoning_effort
    plain = replace(plain, reasoning_effort=effort)
    if mode == "openai_compatible" or not (mode or endpoint):
        # Without an Azure endpoint it is OpenAI's own; a key that belongs to Azure is not sent there.
        if endpoint:
            return replace(plain, base_url=endpoint, api_key=key)
        given = mode and key.get_secret_value()
        return replace(plain, base_url=model.openai_base_url, api_key=key if given else model.openai_api_key)
    return replace(
        plain,
        base_url=endpoint,
        api_key=key,
        auth_mode=mode or ("api_key" if key.get_secret_value() else "azure_cli"),
        api_version=keys.value("api_version"),
        ad_scope=keys.value("ad_scope"),
        managed_identity_client_id=keys.value("managed_identity_client_id"),
    )


def _openai_compatible(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    keys = RoleKeys(model, plain.role, "openai_compatible")
    base_url, key = keys.account()
    if not base_url:
        # Without any endpoint it is the one of openai_chat, with its key unless another was given.
        base_url, key = model.openai_base_url, key if key.get_secret_value() else model.openai_api_key
    return replace(
        plain,
        base_url=base_url,
        api_key=key,
        temperature=keys.value("temperature"),
        max_tokens=keys.value("max_tokens"),
        timeout_seconds=keys.value("timeout_seconds"),
    )


def _qwen_chat(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    keys = RoleKeys(model, plain.role, "qwen_chat")
    base_url, key = keys.account()
    temperature: Any = keys.value("temperature")
    return replace(
        plain,
        base_url=base_url,
        api_key=key,
        temperature=None if isinstance(temperature, str) else temperature,
        max_tokens=keys.value("max_tokens"),
        timeout_seconds=keys.value("timeout_seconds"),
        use_max_completion_tokens=keys.value("use_max_completion_tokens"),
        thinking=_qwen_thinking(model, plain.role),
    )


def _qwen_thinking(model: ModelSection, role: RoleName) -> str:
    """The role's mode, the role's older switch, then the same of both roles; blank where the server decides."""
    for prefix in (f"{role}_", ""):
        mode: str = getattr(model, f"{prefix}qwen_chat_thinking_mode")
        if mode:
            return "" if mode == "server_default" else mode
        switch: bool | None = getattr(model, f"{prefix}qwen_chat_enable_thinking")
        if switch is not None:
            return "enabled" if switch else ""
    return ""


def _minimax_chat(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    base_url, key = RoleKeys(model, plain.role, "minimax").account()
    thinking = {True: "enabled", False: "disabled", None: ""}[model.minimax_enable_thinking]
    return replace(
        plain,
        base_url=base_url or MINIMAX_REGIONS[model.minimax_region or "global_en"],
        api_key=key,
        temperature=model.minimax_temperature,
        max_tokens=model.minimax_max_tokens,
        timeout_seconds=model.minimax_timeout_seconds,
        thinking=thinking,
    )


def _claude_chat(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    base_url, key = RoleKeys(model, plain.role, "anthropic").account()
    return replace(plain, base_url=base_url, api_key=key, route=model.claude_chat_route)


def _codex_exec(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    plain = _agent(plain, model, also_optimizer=True)
    if not plain.base_url and model.openai_base_url == ModelSection.model_fields["openai_base_url"].default:
        plain = replace(plain, api_key=model.openai_api_key)
    effort = model.codex_exec_reasoning_effort or model.reasoning_effort or ""
    return replace(plain, reasoning_effort=effort, options={"path": model.codex_exec_path})


def _claude_code_exec(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    plain = _agent(plain, model)
    if not plain.base_url:
        base_url, key = RoleKeys(model, plain.role, "anthropic").account()
        own = base_url != ModelSection.model_fields["anthropic_base_url"].default
        plain = replace(plain, base_url=base_url if own else "", api_key=key)
    return replace(plain, reasoning_effort=model.claude_code_exec_effort)


def _copilot_chat(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    named: str = plain.model or getattr(model, f"copilot_chat_{plain.role}_model")
    options = {"path": model.copilot_exec_path, "home": model.copilot_exec_home}
    timeout = 600 if model.copilot_chat_timeout is None else model.copilot_chat_timeout
    return replace(plain, model=named, reasoning_effort="", timeout_seconds=timeout, options=options)


def _agent(plain: RoleSettings, model: ModelSection, *, also_optimizer: bool = False) -> RoleSettings:
    """An agent CLI: its own endpoint with its key, or neither."""
    if plain.role != "target" and not also_optimizer:
        raise ConfigError(
            f"model.{plain.role}_backend={plain.backend}: an agent CLI can only be a target",
            hint=f"set model.{plain.role}_backend, for example to openai_chat",
        )
    key = model.exec_api_key if model.exec_base_url else SecretStr("")
    return replace(plain, base_url=model.exec_base_url, api_key=key, reasoning_effort="", options={})


def _local(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    return replace(
        plain,
        base_url=model.local_base_url,
        reasoning_effort="",
        local_threads=model.local_threads,
        local_context=model.local_context,
    )


def _scripted(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    return replace(plain, reasoning_effort="", scripted_script=model.scripted_script)


def _plugin(plain: RoleSettings, model: ModelSection) -> RoleSettings:
    return replace(plain, options={**model.backend_options, **getattr(model, f"{plain.role}_backend_options")})


_BUILDERS: Mapping[str, Callable[[RoleSettings, ModelSection], RoleSettings]] = {
    "openai_chat": _openai_chat,
    "openai_compatible": _openai_compatible,
    "qwen_chat": _qwen_chat,
    "minimax_chat": _minimax_chat,
    "claude_chat": _claude_chat,
    "codex_exec": _codex_exec,
    "claude_code_exec": _claude_code_exec,
    "copilot_exec": _agent,
    "copilot_chat": _copilot_chat,
    "opencode_exec": _agent,
    "qwen_exec": _agent,
    "gemini_exec": _agent,
    "pi_exec": _agent,
    "local": _local,
    "scripted": _scripted,
}
