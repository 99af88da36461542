"""`compare`, `check`: skills side by side, and whether a changed skill is still as good as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import LEFTOVERS, OVERRIDES_HELP, Json, Replay

_NAMED = "A skill file or a directory with a SKILL.md, or name=PATH; again for more."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("compare", context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(compare)


def compare(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="The configuration with items, scorer and target.")
    ] = None,
    skill: Annotated[list[str] | None, typer.Option("--skill", help=_NAMED)] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A target model (model.target); again for more.")
    ] = None,
    harness: Annotated[
        list[str] | None,
        typer.Option("--harness", help="A target backend: openai_chat, claude_code_exec, codex_exec, ...; more times."),
    ] = None,
    no_skill: Annotated[
        bool, typer.Option("--no-skill/--without-no-skill", help="Ask without any skill too, as a column.")
    ] = True,
    split: Annotated[str, typer.Option("--split", help="train, selection, test, or all.")] = "test",
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Compare skills, models and harnesses on the same items, or finished runs (RUN RUN ...) on their sealed tests.

    Every skill is asked under every model and harness, and without a skill. Pairs that differ in one thing are
    compared item by item; the intervals of all pairs hold at once. The same command goes on.
    """

    def action() -> int:
        from skillopt.cli.keeping.compare import CompareArgs, run_compare

        asked = CompareArgs(config, skill or [], model or [], harness or [], no_skill, split, replay, as_json)
        return run_compare(asked, context.args)

    faults.run(action)
