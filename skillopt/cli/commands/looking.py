"""`show`, `view`: a run and its items as people look at them. Nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("show")(show)
    app.command("view")(view)


def show(
    run: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    item: Annotated[
        str, typer.Argument(help="An item: its id, the beginning of it, or words of its name.", show_default=False)
    ] = "",
    as_json: Json = False,
) -> None:
    """Show what a run came to and what to do next; with an ITEM its question, right answer and answers."""

    def action() -> int:
        from skillopt.cli.explaining.look import run_show

        return run_show(run, item, as_json=as_json)

    faults.run(action)


def view(
    run: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write the page. Default: <run>/logs/view.html.")
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write a run as one HTML page: course, items by step, the skill with blame, answers side by side, cost.

    The file needs no network and no script, so it can be sent or attached to a review.
    """

    def action() -> int:
        from skillopt.cli.explaining.look import run_view

        return run_view(run, out, opened=open_it)

    faults.run(action)
