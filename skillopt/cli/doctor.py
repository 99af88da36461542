"""`skillopt doctor`: is everything in place for a run? One line a check, with the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from skillopt.api.checking import Check, answer_checks, free_checks, node_checks, unusable
from skillopt.api.given.configuring import Resolved
from skillopt.cli import faults
from skillopt.cli.commands.options import resolve_arguments, show_values
from skillopt.cli.console import Screen
from skillopt.core.errors import SkillOptError

_SIGNS = {"ok": "✓", "warning": "·", "failed": "✗"}


def run_doctor(
    path: Path | None, leftovers: list[str], *, calls: bool, dry_run: bool, executor: str | None = None
) -> int:
    """`skillopt doctor`; `executor` is what `--executor` says."""
    leftovers = [*leftovers, *([f"executor.kind={executor}"] if executor else [])]
    screen = Screen(whole=True)
    found: list[Check] = []

    def show(check: Check) -> None:
        found.append(check)
        fix = f" → {check.fix}" if check.state != "ok" and check.fix else ""
        screen.line(f"{_SIGNS[check.state]} {check.name}: {check.found}{fix}")

    for check in free_checks():
        show(check)
    if path is None:
        screen.line("· configuration: none given → skillopt doctor --config <file> checks data and models too")
        if executor:
            try:
                asyncio.run(_show_nodes(None, leftovers, show))
            except SkillOptError as error:
                show(unusable(error))
    else:
        try:
            resolved = resolve_arguments(path, leftovers)
        except SkillOptError as error:
            show(unusable(error))
        else:
            if dry_run:
                return show_values(screen, resolved)
            show(Check("configuration", "ok", str(path)))
            for check in free_checks(resolved):
                show(check)
            asyncio.run(_show_nodes(resolved, (), show))
            if calls:
                asyncio.run(_show_answers(resolved, show))
    failed = sum(check.state == "failed" for check in found)
    screen.line(f"{failed} of {len(found)} checks failed" if failed else f"all {len(found)} checks passed")
    return faults.USER if failed else faults.DONE


async def _show_nodes(resolved: Resolved | None, leftovers: Sequence[str], show: Callable[[Check], None]) -> None:
    async for check in node_checks(resolved, leftovers):
        show(check)


async def _show_answers(resolved: Resolved, show: Callable[[Check], None]) -> None:
    async for check in answer_checks(resolved):
        show(check)
