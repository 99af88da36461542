"""claude_chat: Claude by one of two routes, which differ in who pays. A key in the environment chooses none of them.

`cli` is the `claude` program with its own login, `api` the Messages API with a key. `auto` takes the program where it
is installed, else the API; the banner names the endpoint, and so the route.
"""

from __future__ import annotations

import shutil
from importlib import import_module

from skillopt.core.errors import ConfigError
from skillopt.model.providers import anthropic_api
from skillopt.model.types import Backend, BackendSettings

PROGRAM = "claude"
CLI_MODULE = "skillopt.model.providers.claude_cli"
"""Holds `create(settings) -> Backend` for the program's route."""


def create(settings: BackendSettings) -> Backend:
    """Backend from a role's settings: `route` (cli, api, auto) and what the route reads. Raises `ConfigError`."""
    route = str(settings.get("route") or "cli")
    if route == "auto":
        route = "cli" if shutil.which(str(settings.get("path") or PROGRAM)) else "api"
    if route == "api":
        return anthropic_api.create(settings)
    if route != "cli":
        raise ConfigError(f"claude_chat_route={route}: no such route", hint="one of cli, api, auto")
    return _cli(settings)


def _cli(settings: BackendSettings) -> Backend:
    try:
        module = import_module(CLI_MODULE)
    except ModuleNotFoundError as error:
        if error.name != CLI_MODULE:
            raise
        raise ConfigError(
            "claude_chat_route: cli is not available in this version",
            hint="set claude_chat_route: api and ANTHROPIC_API_KEY",
        ) from None
    backend: Backend = module.create(settings)
    return backend
