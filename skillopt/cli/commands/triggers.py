"""`trigger`: whether agents load a skill when they should, and training of its description."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import LEFTOVERS, OVERRIDES_HELP, Json, Replay


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("trigger", context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(trigger)


def trigger(
    context: typer.Context,
    skill: Annotated[Path, typer.Argument(help="The skill: a directory with a SKILL.md.", show_default=False)],
    queries: Annotated[
        Path,
        typer.Option("--queries", help="Rows {query, should_trigger}, as in an eval_queries.json.", show_default=False),
    ],
    rival: Annotated[
        list[Path] | None, typer.Option("--rival", help="A skill that is installed beside it; may be repeated.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A configuration file with the models; keys may be given instead.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often each query is asked.")] = 3,
    description: Annotated[
        str | None, typer.Option("--description", help="Measure this description instead of the skill's own.")
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train the description: a run with its proof and its sealed test.")
    ] = False,
    propose: Annotated[
        int, typer.Option("--propose", min=0, help="Let the optimizer propose so many queries for you to review.")
    ] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="The run directory.")] = None,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Measure how well a skill's description is found by an agent: recall, precision and false alarms, with intervals.

    A literal invocation comes first: where even that does not load the skill, nothing can be measured here. With
    --propose the queries are written beside the file, for review; with --train the description is trained.
    """

    def action() -> int:
        from skillopt.cli.trigger import TriggerArgs, run_trigger

        asked = TriggerArgs(
            skill, queries, tuple(rival or ()), config, repeats, description, train, propose, out, replay, as_json
        )
        return run_trigger(asked, context.args)

    faults.run(action)
