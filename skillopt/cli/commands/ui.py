"""`ui`: the dashboard."""

from __future__ import annotations

import functools

import typer

from skillopt.cli import faults
from skillopt_webui.door import ui


def register(app: typer.Typer) -> None:
    """Add the command."""

    @functools.wraps(ui)
    def guarded(*arguments: object, **options: object) -> None:
        def action() -> int:
            ui(*arguments, **options)  # pyright: ignore[reportArgumentType]
            return faults.DONE

        faults.run(action)

    app.command("ui")(guarded)
