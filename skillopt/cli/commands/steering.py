"""`runs`, `ctl`: what there is, and orders to a run that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import Json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("runs")(runs)
    app.command("ctl")(ctl)


def runs(
    roots: Annotated[
        list[Path] | None, typer.Argument(help="Directories of runs.", show_default="outputs")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """List runs: which go on, how far they are, what they came to."""

    def action() -> int:
        from skillopt.cli.steering import run_runs

        return run_runs(roots or [Path("outputs")], as_json=as_json)

    faults.run(action)


def ctl(
    run: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    order: Annotated[
        list[str],
        typer.Argument(
            help="pause, resume, stop, or set KEY VALUE (workers, max_calls, max_tokens, max_usd, max_hours; "
            "none takes a cap away).",
            show_default=False,
        ),
    ],
) -> None:
    """Steer a run that goes on: pause it, let it go on, stop it in order, change a cap or its number of workers.

    A stop in order makes no further call and writes the report; the training command continues the run.
    """

    def action() -> int:
        from skillopt.cli.steering import run_ctl

        return run_ctl(run, order)

    faults.run(action)
