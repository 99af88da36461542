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
    app.command("check", context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(check)
    app.command("transfer", context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(transfer)


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


def check(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Suites, skills (their suites lie in suites/ beside them), or directories of them; with --as-suite a "
            "run directory.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str, typer.Option("--against", help="What the skill was: a Git revision or a path. Default: the suite's own.")
    ] = "",
    model: Annotated[
        str, typer.Option("--model", help="Audit an upgrade: the same skill under this target model.")
    ] = "",
    harness: Annotated[str, typer.Option("--harness", help="The same, under this target backend.")] = "",
    margin: Annotated[
        float | None, typer.Option("--margin", help="The loss that is tolerated, 0 to 1. Default: the suite's.")
    ] = None,
    max_usd: Annotated[float | None, typer.Option("--max-usd", help="The most that a version may cost.")] = None,
    replay: Replay = False,
    as_suite: Annotated[
        Path | None, typer.Option("--as-suite", help="Make a suite out of the run, in this new directory.")
    ] = None,
    skill: Annotated[
        Path | None, typer.Option("--skill", help="With --as-suite: where the skill under test lies. Default: a copy.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Write annotations and the job's summary for GitHub Actions.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check in CI that a changed skill (or a new model) is no worse, item by item, by the same test as everywhere.

    Exit code 0 held, 1 regressed, 2 not measured, 3 configuration. Recorded answers cost nothing; with --replay
    nothing is asked. `check RUN --as-suite DIR` makes a suite of a run's sealed test.
    """

    def action() -> int:
        from skillopt.cli.keeping.check import CheckArgs, run_check

        asked = CheckArgs(
            paths or [], against, model, harness, margin, max_usd, replay, as_suite, skill, github, as_json
        )
        return run_check(asked, context.args)

    faults.run(action)


def transfer(
    context: typer.Context,
    config: Annotated[Path, typer.Option("--config", help="The configuration with items and scorer.")],
    skill: Annotated[
        list[str], typer.Option("--skill", help="A run directory or a skill file, or name=PATH; again for more.")
    ],
    model: Annotated[
        list[str] | None, typer.Option("--model", help="A target model (model.target); again for more.")
    ] = None,
    harness: Annotated[
        list[str] | None,
        typer.Option("--harness", help="A target backend: openai_chat, claude_code_exec, codex_exec, ...; more times."),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="train, selection, test, or all.")] = "test",
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """What skills are worth under other models and harnesses than they were trained for.

    The best skill of each run (or a skill file) is asked under the target it was trained for and under every model and
    harness named, and no skill beside it: its gain there, the share of its gain at home, and the share of what the
    target's own skill gains. The same command goes on.
    """

    def action() -> int:
        from skillopt.cli.keeping.transfer import TransferArgs, run_transfer

        asked = TransferArgs(config, skill, model or [], harness or [], split, replay, as_json)
        return run_transfer(asked, context.args)

    faults.run(action)
