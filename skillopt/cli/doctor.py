"""`skillopt doctor`: is everything in place for a run? One line a check, with the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from skillopt.cli import faults
from skillopt.cli.commands.options import resolve_arguments, show_values
from skillopt.cli.console import Screen
from skillopt.config import Config
from skillopt.core.errors import SkillOptError
from skillopt.engine.run.doctor import Check, check_data, check_machine, check_model_file, check_roles

_SIGNS = {"ok": "✓", "warning": "·", "failed": "✗"}


def run_doctor(path: Path | None, leftovers: list[str], *, calls: bool, dry_run: bool) -> int:
    """`skillopt doctor`."""
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
                return show_values(screen, resolved)
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
