"""What to do about a failed call: one table of cause and way to the model, for doctor, pre-flight and run.

Whoever raises an error knows its cause; which setting to correct depends on how the role reaches its model, and is said
here in the words of the configuration. A cause that nobody knows gets no advice rather than a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from skillopt.config.backends import AGENTS
from skillopt.config.roles import RoleSettings
from skillopt.core.errors import Cause, ModelError
from skillopt.harnesses.catalogue import PACKAGES
from skillopt.model.providers.wire.endpoint import is_loopback


def advice(cause: Cause, role: RoleSettings) -> str:
    """What the user can do, "" where nothing sensible can be said.

    >>> advice("model", RoleSettings(role="target", backend="qwen_chat", model="m"))
    'check the model name of the target (model.target)'
    """
    way = _way(role)
    return {
        "": "",
        "key": way.key,
        "forbidden": f"the {way.account} may not use this model: ask for access, or name another in model.{role.role}",
        "model": way.model,
        "address": way.address,
        "moved": f"the server sends calls elsewhere: give the final address. {way.address}",
        "credit": f"the account has no credit left: fill it up, or use another {way.account}",
        "request": way.request,
        "client": way.install,
        "busy": "wait until the provider takes calls again, lower env.workers, or raise the account's limit",
        "unreachable": way.unreachable,
        "certificate": "name the file of your certificates in SSL_CERT_FILE, or correct the address",
        "silent": way.silent,
        "broken": way.broken,
        "foreign": f"what answers there is no model of this kind. {way.address}",
        "empty": way.empty,
    }[cause]


def advised(error: ModelError, role: RoleSettings) -> str:
    """The error's own hint, else the advice for its cause."""
    return error.hint or advice(error.cause, role)


@dataclass(frozen=True)
class _Way:
    """The words of one way to a model. `account` is what is paid or refused; the rest are whole pieces of advice."""

    account: str
    key: str
    address: str
    model: str
    unreachable: str
    silent: str = "see why it is slow, or take a faster model"
    broken: str = "the provider failed: try again later"
    request: str = ""
    install: str = ""
    empty: str = "check that the server has this model, and the model's chat template"


def _way(role: RoleSettings) -> _Way:
    if role.backend in _LOGINS and not (role.backend == "claude_chat" and role.route == "api"):
        return _program(role)
    if role.backend == "local":
        return _local(role)
    if role.backend == "openai_chat" and role.auth_mode not in ("", "openai_compatible"):
        return _azure(role)
    family = _family(role)
    if family is not None:
        return _server(role, family)
    return _Way(
        account="key",
        key=f"check the key in the settings of the backend {role.backend}",
        address=f"check the address in the settings of the backend {role.backend}",
        model=_model_name(role),
        unreachable=f"start what the backend {role.backend} asks, or check its address",
    )


def _model_name(role: RoleSettings) -> str:
    if not role.model:
        return f"name a model in model.{role.role}"
    return f"check the model name of the {role.role} (model.{role.role})"


@dataclass(frozen=True)
class _Family:
    """Keys of section `model` that lead one backend to its server. `shape` says how an address is to be given."""

    key: str
    address: str
    shape: str
    variable: str = ""
    timeout: str = ""
    per_role: bool = True


_FAMILIES: Mapping[str, _Family] = {
    "openai_chat": _Family("openai_api_key", "openai_base_url", "up to and with /v1", "OPENAI_API_KEY", per_role=False),
    "openai_compatible": _Family(
        "openai_compatible_api_key", "openai_compatible_base_url", "up to and with /v1",
        timeout="openai_compatible_timeout_seconds",
    ),
    "qwen_chat": _Family(
        "qwen_chat_api_key", "qwen_chat_base_url", "up to and with /v1", timeout="qwen_chat_timeout_seconds"
    ),
    "minimax_chat": _Family(
        "minimax_api_key", "minimax_base_url", "up to and with /v1, or model.minimax_region", "MINIMAX_API_KEY",
        "minimax_timeout_seconds",
    ),
    "claude_chat": _Family("anthropic_api_key", "anthropic_base_url", "without /v1", "ANTHROPIC_API_KEY"),
}  # fmt: skip
_OTHER_THAN_AZURE = _Family(
    "azure_openai_api_key", "azure_openai_endpoint", "up to and with /v1", "AZURE_OPENAI_API_KEY"
)


def _family(role: RoleSettings) -> _Family | None:
    """The keys in force: some backends fall back to the keys of another."""
    if role.backend == "openai_chat" and role.auth_mode == "openai_compatible":
        return _OTHER_THAN_AZURE
    if role.backend == "openai_compatible" and urlsplit(role.base_url).hostname == "api.openai.com":
        return _FAMILIES["openai_chat"]
    return _FAMILIES.get(role.backend)


def _named(role: RoleSettings, family: _Family, key: str) -> str:
    """`model.X`, with the role's own key where there is one."""
    shared = "optimizer" if role.role == "judge" else role.role
    return f"model.{key}" + (f" or model.{shared}_{key}" if family.per_role else "")


def _server(role: RoleSettings, family: _Family) -> _Way:
    key, address = _named(role, family, family.key), _named(role, family, family.address)
    variable = f"{family.variable}, " if family.variable else ""
    where = f"check {address} (give it {family.shape})"
    silent = f"raise model.{family.timeout}, or see why the server is slow" if family.timeout else _Way.silent
    return _Way(
        account="key",
        key=f"check the API key of the {role.role} ({variable}{key})",
        address=where,
        model=_model_name(role),
        unreachable=_unreachable(role, where),
        silent=silent,
    )


def _unreachable(role: RoleSettings, where: str) -> str:
    host = urlsplit(role.base_url).hostname or ""
    if is_loopback(host):
        return f"start the server at {host}, or {where}"
    return f"check the network and its proxies (HTTPS_PROXY), or {where}"


def _azure(role: RoleSettings) -> _Way:
    sign_in = {
        "azure_cli": "run `az login` with an account that may use the Azure resource",
        "managed_identity": "give this machine's identity access to the Azure resource",
    }
    keys = f"AZURE_OPENAI_API_KEY, {_named(role, _OTHER_THAN_AZURE, 'azure_openai_api_key')}"
    endpoint = _named(role, _OTHER_THAN_AZURE, "azure_openai_endpoint")
    deployment = f"the name of the deployment (model.{role.role})"
    where = f"check {endpoint} (give it without /openai), {deployment} and model.azure_openai_api_version"
    if role.base_url.rstrip("/").endswith("/openai/v1"):
        where = f"check {endpoint} and {deployment}"
    return _Way(
        account="login" if role.auth_mode in sign_in else "key",
        key=sign_in.get(role.auth_mode, f"check the API key of the {role.role} ({keys})"),
        address=where,
        model=f"check {deployment}: Azure knows models by it",
        unreachable=_unreachable(role, f"check {endpoint}"),
    )


def _local(role: RoleSettings) -> _Way:
    where = "check model.local_base_url"
    return _Way(
        account="server",
        key="the server at model.local_base_url wants a key: use the backend openai_compatible for it",
        address=where,
        model=f"check model.{role.role}; `skillopt model list` names what there is",
        unreachable=_unreachable(role, where) if role.base_url else "run `skillopt model probe`",
        silent="give it more threads (model.local_threads) or a shorter skill, or lower env.workers",
        broken="run `skillopt model probe`",
    )


@dataclass(frozen=True)
class _Login:
    """How one program signs in: `login` says what to do, `key` the variable of its vendor's key, blank where the
    program is not given one."""

    package: str
    login: str
    variable: str = ""
    wire: str = "Chat Completions"


_LOGINS: Mapping[str, _Login] = {
    "codex_exec": _Login("codex", "run `codex login`", "OPENAI_API_KEY", "the Responses API"),
    "claude_code_exec": _Login("claude_code", "run `claude` and log in", "ANTHROPIC_API_KEY", "the Messages API"),
    "claude_chat": _Login("claude_code", "run `claude` and log in", "ANTHROPIC_API_KEY", "the Messages API"),
    "copilot_exec": _Login("copilot", "run `copilot` and log in with /login"),
    "copilot_chat": _Login("copilot", "run `copilot` and log in with /login"),
    "opencode_exec": _Login("opencode", "run `opencode auth login`"),
    "qwen_exec": _Login("qwen", "run `qwen` and choose a way to sign in with /auth"),
    "gemini_exec": _Login("gemini", "", wire="the Gemini API"),
    "pi_exec": _Login("pi", "run `pi` and log in with /login"),
}


def _program(role: RoleSettings) -> _Way:
    """An agent program: at an endpoint of one's own, by its vendor's key, or by its login."""
    program = _LOGINS[role.backend]
    own = "model.anthropic_base_url" if role.backend == "claude_chat" else "model.exec_base_url"
    model = _model_name(role)
    install = f"install the current version: npm install -g {PACKAGES[program.package]}"
    if role.base_url:
        refused = "model.anthropic_api_key" if role.backend == "claude_chat" else "model.exec_api_key"
        where = f"check {own}: {program.package} needs {program.wire} there"
        return _Way(
            account="key", key=f"check {refused}: {own} refused it", address=where, model=model,
            request=f"{where}; check {model.removeprefix('check ')} too", unreachable=_unreachable(role, where),
            install=install, empty=f"{where}, and that it has this model",
        )  # fmt: skip
    key = program.variable if role.api_key.get_secret_value() else ""
    or_key = f", or set {program.variable}" if program.variable and not key else ""
    endpoint = (
        ", or use an endpoint of your own (model.exec_base_url, model.exec_api_key)" if role.backend in AGENTS else ""
    )
    sign_in = f"check {key}" if key else f"{program.login}{or_key}{endpoint}".removeprefix(", or ")
    return _Way(
        account="key" if key else "login",
        key=sign_in,
        address=f"{install}{endpoint}",
        model=model,
        unreachable=f"check the network between this machine and the service of {program.package}{endpoint}",
        request=f"{install}; or {model}",
        install=install,
        empty=f"ask {program.package} something by hand, and see why it says nothing",
    )
