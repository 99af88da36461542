"""`skillopt doctor`: is everything in place for a run? One line a check, with the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.setup import DryRun, resolve_arguments
from skillopt.config import Config, render_dry_run
from skillopt.core.errors import SkillOptError
from skillopt.engine.run.doctor import Check, check_data, check_machine, check_model_file, check_roles

_SIGNS = {"ok": "✓", "warning": "·", "failed": "✗"}


def doctor(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="Also check this configuration.")] = None,
    dry_run: DryRun = False,
    no_calls: Annotated[
        bool, typer.Option("--no-calls", "--no_calls", help="Leave the calls to the models out.")
    ] = False,
) -> None:
    """Check the machine and a configuration: data, model file, disk, and one small call to each role's model."""
    faults.run(lambda: _doctor(config, context.args, calls=not no_calls, dry_run=dry_run))


def _doctor(path: Path | None, leftovers: list[str], *, calls: bool, dry_run: bool) -> int:
    screen = Screen()
    found: list[Check] = []

    def show(check: Check) -> None:
        found.append(check)
        fix = f" → {check.fix}" if check.state != "ok" and check.fix else ""
        screen.line(f"{_SIGNS[check.state]} {check.name}: {check.found}{fix}")

    for check in check_machine():
        show(check)
    if path is None:
        screen.line("· configuration: none given → skillopt doctor --config <file> checks data and models too")
    else:
        try:
            resolved = resolve_arguments(path, leftovers)
        except SkillOptError as error:
            show(Check("configuration", "failed", error.message, error.hint))
        else:
            if dry_run:
                for line in render_dry_run(resolved).splitlines():
                    screen.line(line)
                return faults.DONE
            show(Check("configuration", "ok", str(path)))
            _check_config(resolved.config, show, calls=calls)
    failed = sum(check.state == "failed" for check in found)
    screen.line(f"{failed} of {len(found)} checks failed" if failed else f"all {len(found)} checks passed")
    return faults.USER if failed else faults.DONE


def _check_config(config: Config, show: Callable[[Check], None], *, calls: bool) -> None:
    for check in check_data(config):
        show(check)
    model_file = check_model_file(config)
    if model_file is not None:
        show(model_file)
    if calls and (model_file is None or model_file.state == "ok"):
        asyncio.run(_show_roles(config, show))


async def _show_roles(config: Config, show: Callable[[Check], None]) -> None:
    async for check in check_roles(config):
        show(check)
