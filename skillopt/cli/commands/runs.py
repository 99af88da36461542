"""`train`, `plan`, `eval`, `selftest`, `doctor`: the commands that take a configuration and spend calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import (
    LEFTOVERS,
    OVERRIDES_HELP,
    AllowChange,
    ConfigOption,
    DryRun,
    Effort,
    Replay,
    Seeds,
    Yes,
    configured,
)

if TYPE_CHECKING:
    from skillopt.api.given.configuring import Resolved


def register(app: typer.Typer) -> None:
    """Add the commands; each takes any configuration key as an option too."""
    for name, command in (
        ("train", train), ("eval", evaluate), ("plan", plan), ("doctor", doctor), ("selftest", selftest),
    ):  # fmt: skip
        app.command(name, context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(command)


def train(
    context: typer.Context,
    config: ConfigOption,
    dry_run: DryRun = False,
    replay: Replay = False,
    allow_config_change: AllowChange = False,
    yes: Yes = False,
    seeds: Seeds = None,
    effort: Effort = None,
) -> None:
    """Train a skill; the same command continues a run that was stopped. Any configuration key is also an option."""

    def body(resolved: Resolved) -> int:
        from skillopt.cli.train import TrainArgs, run_training

        asked = TrainArgs(replay=replay, allow_config_change=allow_config_change, yes=yes)
        if seeds is not None:
            from skillopt.cli.seeds import run_seeds

            return run_seeds(resolved, seeds, asked)
        return run_training(resolved, asked)

    configured(context, config, body, dry_run=dry_run, effort=effort)


def plan(
    context: typer.Context,
    config: ConfigOption,
    dry_run: DryRun = False,
    seeds: Seeds = None,
    effort: Effort = None,
) -> None:
    """Say what a run will take (calls, tokens, money, time) and the smallest gain the data can show. Asks no model."""

    def body(resolved: Resolved) -> int:
        if seeds is not None:
            from skillopt.cli.seeds import run_seeds_plan

            return run_seeds_plan(resolved, seeds)
        from skillopt.cli.train import run_plan

        return run_plan(resolved)

    configured(context, config, body, dry_run=dry_run, effort=effort)


def evaluate(
    context: typer.Context,
    config: ConfigOption,
    skill: Annotated[Path, typer.Option("--skill", help="The skill file to evaluate.", show_default=False)],
    split: Annotated[
        str, typer.Option("--split", help="train, valid_seen (val, selection), valid_unseen (test), or all.")
    ] = "all",
    dry_run: DryRun = False,
    replay: Replay = False,
) -> None:
    """Evaluate a skill: a table for each split, with intervals, and eval_summary.json; again to continue."""

    def body(resolved: Resolved) -> int:
        from skillopt.cli.evaluate import run_evaluation

        return run_evaluation(resolved, skill, split, replay=replay)

    configured(context, config, body, dry_run=dry_run)


def selftest(
    context: typer.Context,
    config: ConfigOption,
    skill: Annotated[
        Path | None, typer.Option("--skill", help="The skill to test; the configuration's initial one by default.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Measure the noise: two draws of one skill on the selection split, and what a gate can show with it."""

    def body(resolved: Resolved) -> int:
        from skillopt.cli.selftest import run_selftest

        return run_selftest(resolved, skill)

    configured(context, config, body, dry_run=dry_run)


def doctor(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="Also check this configuration.")] = None,
    dry_run: DryRun = False,
    no_calls: Annotated[
        bool, typer.Option("--no-calls", "--no_calls", help="Leave the calls to the models out.")
    ] = False,
    executor: Annotated[
        str | None,
        typer.Option("--executor", help="Also look at this executor: ray connects and runs one unit on every node."),
    ] = None,
) -> None:
    """Check the machine and a configuration: data, model file, disk, and one small call to each role's model."""

    def action() -> int:
        from skillopt.cli.doctor import run_doctor

        return run_doctor(config, context.args, calls=not no_calls, dry_run=dry_run, executor=executor)

    faults.run(action)
