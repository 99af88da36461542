"""`skillopt lint`: findings on a skill, one line each, and an exit code for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.blame import Json
from skillopt.cli.console import Screen
from skillopt.cli.wording import plural
from skillopt.explain.lint_file import Report, check

FOUND = 1
"""Exit code when there are errors (with --strict: or warnings)."""


def lint(
    skill: Annotated[
        Path, typer.Argument(help="A skill file, a directory with a SKILL.md, or a run directory.", show_default=False)
    ],
    config: Annotated[
        Path | None, typer.Option("--config", help="The configuration that knows the data, for the leakage rules.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: Json = False,
) -> None:
    """Check a skill: header, links, rules said twice or against each other, shouting, secrets, copied data.

    Exit code 0 without errors, 1 with errors, 2 when it could not be checked.
    """
    faults.run(lambda: _lint(skill, config, strict=strict, as_json=as_json))


def _lint(skill: Path, config: Path | None, *, strict: bool, as_json: bool) -> int:
    screen = Screen()
    report = check(skill, config)
    if as_json:
        screen.line(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        _show(screen, report)
    failed = report.errors or (strict and report.findings)
    return FOUND if failed else faults.DONE


def _show(screen: Screen, report: Report) -> None:
    for f in report.findings:
        where = f"{report.file}:{f.line}" if f.line else str(report.file)
        hint = f" ({f.hint})" if f.hint else ""
        screen.line(f"{where}: {f.severity}: {f.message}{hint} [{f.rule}]")
    for rule, reason in report.unchecked.items():
        screen.line(f"note: {rule} was not checked: {reason}")
    warnings = len(report.findings) - report.errors
    screen.line(f"{report.file}: {plural(report.errors, 'error')}, {plural(warnings, 'warning')}")
