"""Which backend answers in which role: what was asked for, else the program of the source with most sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import FatalModelError
from skillopt.core.json_types import as_object, parse_json
from skillopt.harnesses.job import Endpoint
from skillopt.sleep.backends.agent_cli import KINDS, AgentCli
from skillopt.sleep.backends.base import Backend
from skillopt.sleep.backends.chat_endpoint import ChatEndpoint
from skillopt.sleep.backends.handoff import Handoff
from skillopt.sleep.calls import Role
from skillopt.sleep.errors import BackendError, SettingsError
from skillopt.sleep.settings.reading import backend_model
from skillopt.sleep.settings.schema import Settings

ENDPOINT = "SKILLOPT_SLEEP_ENDPOINT"
"""A model server of one's own for the agent CLIs, up to and including `/v1`."""

MOST_TOKENS = "SKILLOPT_SLEEP_COMPAT_MAX_TOKENS"
"""Longest reply that `openai_compatible` asks for, in tokens."""


def roles_of(
    settings: Settings, environ: Mapping[str, str], hosts: Sequence[str], handoff: Path
) -> tuple[dict[Role, Backend], list[str]]:
    """The backends by role, and a line for each choice. `hosts`: sources with sessions, most first.

    Raises `BackendError`, `SettingsError`.
    """
    said: list[str] = []
    made: dict[tuple[str, str], Backend] = {}
    wanted: dict[Role, tuple[str, str]] = {
        "optimizer": (settings.optimizer_backend or settings.backend, settings.optimizer_model),
        "target": (settings.target_backend or settings.backend, settings.target_model),
    }
    roles: dict[Role, Backend] = {}
    for role, (name, model) in wanted.items():
        name = name or _detected(settings, environ, hosts)
        model = model or backend_model(settings, environ, name)
        if (name, model) not in made:
            made[name, model] = _made(name, model, settings, environ, handoff)
            said.append(f"{name}{f' ({model})' if model else ''} answers" + _who_pays(made[name, model]))
        roles[role] = made[name, model]
    return roles, said


def _detected(settings: Settings, environ: Mapping[str, str], hosts: Sequence[str]) -> str:
    for name in [host for host in hosts if host in KINDS]:
        try:
            cli = AgentCli.found(name, _path(settings, name), environ, endpoint=_endpoint(environ))
        except FatalModelError:
            continue
        if not cli.login_problem():
            return name
    raise BackendError(
        "no agent program of a source with sessions is installed and signed in",
        hint="say --backend claude, codex, copilot, openai_compatible or handoff",
    )


def _made(name: str, model: str, settings: Settings, environ: Mapping[str, str], handoff: Path) -> Backend:
    if name == "handoff":
        return Handoff(handoff)
    if name == "demo":
        raise SettingsError("backend demo answers in skillopt-sleep demo only", hint="say another --backend")
    try:
        if name in KINDS:
            cli = AgentCli.found(name, _path(settings, name), environ, model=model, endpoint=_endpoint(environ))
            if problem := cli.login_problem():
                raise BackendError(problem, hint="sign in with the program itself")
            return cli
        url = environ.get("OPENAI_BASE_URL", "")
        if not url or not model:
            raise BackendError("openai_compatible needs OPENAI_BASE_URL and --model")
        extra = as_object(parse_json(environ.get("SKILLOPT_SLEEP_CHAT_EXTRA_BODY") or "{}"))
        return ChatEndpoint(url, model, environ.get("OPENAI_API_KEY", ""), extra, _most_tokens(environ))
    except FatalModelError as fault:
        raise BackendError(fault.message, hint=fault.hint) from fault
    except ValueError as fault:
        raise SettingsError(f"SKILLOPT_SLEEP_CHAT_EXTRA_BODY is not JSON ({fault})") from fault


def _most_tokens(environ: Mapping[str, str]) -> int:
    text = environ.get(MOST_TOKENS) or str(ChatEndpoint.most_tokens)
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingsError(f"environment {MOST_TOKENS}: it is {text!r}", hint="it must be a whole number from 1")
    return int(text)


def _path(settings: Settings, name: str) -> str:
    return {"claude": settings.claude_path, "codex": settings.codex_path, "copilot": settings.copilot_path}[name]


def _endpoint(environ: Mapping[str, str]) -> Endpoint | None:
    url = environ.get(ENDPOINT, "")
    return Endpoint(url, environ.get("SKILLOPT_SLEEP_ENDPOINT_KEY", "")) if url else None


def _who_pays(backend: Backend) -> str:
    if isinstance(backend, AgentCli) and backend.key:
        return f", paid by the key in {KINDS[backend.name].key_variable}"
    return ""
