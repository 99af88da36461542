"""`skillopt lint`: findings on a skill, one line each, and an exit code for CI."""

from __future__ import annotations

import json
from pathlib import Path

from skillopt.api.explaining import LintReport, lint
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.wording import plural

FOUND = 1
"""Exit code when there are errors (with --strict: or warnings)."""


def run_lint(skill: Path, config: Path | None, *, strict: bool, as_json: bool) -> int:
    """`skillopt lint`."""
    screen = Screen(whole=True)
    report = lint(skill, config)
    if as_json:
        screen.line(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        _show(screen, report)
    failed = report.errors or (strict and report.findings)
    return FOUND if failed else faults.DONE


def _show(screen: Screen, report: LintReport) -> None:
    for f in report.findings:
        where = f"{report.file}:{f.line}" if f.line else str(report.file)
        hint = f" ({f.hint})" if f.hint else ""
        screen.line(f"{where}: {f.severity}: {f.message}{hint} [{f.rule}]")
    for rule, reason in report.unchecked.items():
        screen.line(f"note: {rule} was not checked: {reason}")
    warnings = len(report.findings) - report.errors
    screen.line(f"{report.file}: {plural(report.errors, 'error')}, {plural(warnings, 'warning')}")
