"""`model pull | list | serve | probe`: the embedded model on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from skillopt.api import EngineSettings
from skillopt.cli import faults

app = typer.Typer(name="model", help="The embedded model: fetch, list, serve, try.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A catalogue name or a .gguf file; the catalogue's default if left out.")]
Threads = Annotated[int, typer.Option(min=0, help="Worker threads; 0 takes the physical cores.")]
Context = Annotated[int, typer.Option(min=512, help="Tokens of context for each request.")]


@app.command()
def pull(
    name: Name = "",
    file: Annotated[str, typer.Option(help="Take this file of yours instead of fetching; it is verified first.")] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Hash the file in full, even if it was hashed before.")
    ] = False,
) -> None:
    """Fetch a model into the user's cache, or continue to; verify it."""
    from skillopt.cli.model import run_pull

    run_pull(name, file, verify=verify)


@app.command("list")
def list_models() -> None:
    """Show the catalogue and what is present."""
    from skillopt.cli.model import show_models

    faults.run(show_models)


@app.command()
def serve(
    name: Name = "",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on the loopback interface; 0 takes a free one.")
    ] = 0,
    threads: Threads = 0,
    context: Context = EngineSettings.n_ctx,
    parallel: Annotated[int, typer.Option(min=1, help="Requests served at the same time.")] = EngineSettings.n_parallel,
) -> None:
    """Serve a model to OpenAI-compatible clients on this machine until Ctrl-C."""
    from skillopt.cli.model import run_serve

    run_serve(name, EngineSettings(threads=threads, n_ctx=context, n_parallel=parallel, port=port, private=False))


@app.command()
def probe(name: Name = "", threads: Threads = 0) -> None:
    """Ask one question through the whole path and show reply, usage and speed."""
    from skillopt.cli.model import run_probe

    run_probe(name, threads)
