"""`judge calibrate`: the judge of a configuration held against people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.commands.options import (
    LEFTOVERS,
    OVERRIDES_HELP,
    ConfigOption,
    DryRun,
    Json,
    Replay,
    Yes,
    configured,
)

if TYPE_CHECKING:
    from skillopt.api.given.configuring import Resolved

app = typer.Typer(name="judge", help="The judge model of rubric and pairwise scorers.", no_args_is_help=True)


@app.callback()
def judge() -> None:
    """The judge model of rubric and pairwise scorers."""


@app.command(context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)
def calibrate(
    context: typer.Context,
    config: ConfigOption,
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            help="Answers with human labels (CSV, TSV, JSON, JSONL): item, answer, label; for pairwise item, a, b, "
            "preferred.",
            show_default=False,
        ),
    ],
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often each answer is judged.")] = 3,
    scale: Annotated[str, typer.Option("--scale", help="The scale of graded labels, low:high, for example 1:5.")] = "",
    dry_run: DryRun = False,
    replay: Replay = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Ask the judge of env.scorer about answers that people have labelled: how often both agree, beyond chance too, how
    often the judge contradicts itself, whether order sways it, and where both differ.
    """

    def body(resolved: Resolved) -> int:
        from skillopt.cli.judge import CalibrateArgs, run_calibration

        return run_calibration(resolved, CalibrateArgs(labels, repeats, scale, replay, yes, as_json))

    configured(context, config, body, dry_run=dry_run)
