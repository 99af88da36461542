"""The dashboard's command line, which `skillopt ui` and `python -m skillopt_webui.app` share."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from skillopt.core.errors import ConfigError

PORT = 7860


def ui(
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", help="A directory of runs; several are possible, new runs go into the first.",
                     show_default="outputs"),
    ] = None,
    configs: Annotated[
        list[Path] | None,
        typer.Option("--configs", help="A directory of configurations; several are possible.", show_default="configs"),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at; another than this machine's needs a "
                                      "token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port; 0 takes a free one.")] = PORT,
    token: Annotated[str, typer.Option("--token", help="Ask everybody for this access token.", show_default=False,
                                       envvar="SKILLOPT_UI_TOKEN")] = "",
    share: Annotated[bool, typer.Option("--share", help="Listen at all addresses, with a token that is made now.")]
    = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A further name under which the server is addressed.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, start and change nothing.")] = False,
    at_once: Annotated[int, typer.Option("--at-once", help="Runs at a time; further ones are queued.", min=1)] = 2,
    nights: Annotated[
        bool | None,
        typer.Option("--nights/--no-nights", help="Show nights of skillopt-sleep.",
                     show_default="on this machine only"),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:  # fmt: skip
    """Serve the dashboard: configure and start runs in the browser, watch them, and see why."""
    from skillopt_webui.settings import Settings, bracketed, is_local

    _need("starlette", "uvicorn", "python_multipart")
    if share:
        host = "0.0.0.0" if host == "127.0.0.1" else host
        token = token or secrets.token_urlsafe(24)
    names = [*(allow_host or []), *([socket.gethostname(), *_addresses()] if share else [])]
    settings = Settings(
        roots=tuple(root or [Path("outputs")]), configs=tuple(configs or [Path("configs")]), host=host,
        port=port or _free_port(host), token=token, allowed_hosts=tuple(names), read_only=read_only, at_once=at_once,
        nights=is_local(host) if nights is None else nights,
    )  # fmt: skip
    at = names[-1] if share and names else "127.0.0.1" if host in ("0.0.0.0", "::") else host
    address = f"http://{bracketed(at)}:{settings.port}/" + (f"?token={token}" if token else "")
    typer.echo(f"SkillOpt dashboard: {address}")
    typer.echo(f"Runs in {', '.join(map(str, settings.roots))}; stop with Ctrl-C, which stops no run")
    if open_it:
        webbrowser.open(address)
    from skillopt_webui.server import serve

    serve(settings)


def _need(*modules: str) -> None:
    from importlib.util import find_spec

    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigError(f"the dashboard needs {', '.join(missing)}", hint='pip install "skillopt[webui]"')


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _addresses() -> list[str]:
    """This machine's own addresses, as other machines would name it."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return []
    return sorted({str(each[4][0]) for each in found})
