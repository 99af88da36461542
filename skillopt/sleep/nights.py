"""The nights of every known project, for whoever shows them (a dashboard): read only, nothing settled, nothing made.

What cannot be read is said in the night's `problem` and stands beside the others. Texts are redacted as they were
stored; `review_page` is the HTML of `skillopt-sleep review --html`, as it stands now.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import JsonValue, as_number, as_object, as_text, parse_json
from skillopt.sleep.errors import StagingError
from skillopt.sleep.staging.close import started_at
from skillopt.sleep.staging.manifest import Manifest, read_manifest
from skillopt.sleep.staging.page import page
from skillopt.sleep.staging.receipts import Receipt, read_receipts
from skillopt.sleep.state.paths import StatePaths, is_night_id, state_root
from skillopt.sleep.state.projects import known
from skillopt.store.lock import is_locked


@dataclass(frozen=True)
class NightRule:
    """One rule a night offers. `state` is `waits`, `adopted`, `rejected` or `reverted`."""

    id: str
    target: str
    op: str
    text: str
    screen: tuple[str, ...]
    state: str


@dataclass(frozen=True)
class NightRow:
    """One night. `verdict` is that of the specification, or `running`, `unfinished`, `abandoned`."""

    project: Path
    night: str
    started: float
    """UTC epoch seconds."""
    verdict: str
    rules: tuple[NightRule, ...] = ()
    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    """None where it is not known."""
    minutes: float | None = None
    directory: Path | None = None
    """Where it is staged; None where it is not."""
    problem: str = ""

    @property
    def review(self) -> Path | None:
        """The page that `review --html` wrote; None where nobody asked for one."""
        path = self.directory / "report.html" if self.directory else None
        return path if path is not None and path.is_file() else None

    @property
    def waits(self) -> bool:
        """Whether a person's word is missing."""
        return any(rule.state == "waits" for rule in self.rules)


def nights(root: Path | None = None, environ: Mapping[str, str] | None = None) -> list[NightRow]:
    """Every night below a state directory (default: the user's), newest first.

    >>> nights(Path("/nowhere"))
    []
    """
    place = state_root(os.environ if environ is None else environ) if root is None else root
    rows = [row for project in known(place) for row in nights_of(StatePaths.of(place, project))]
    return sorted(rows, key=lambda row: row.night, reverse=True)


def nights_of(paths: StatePaths) -> list[NightRow]:
    """The nights of one project, oldest first."""
    names = {path.name for place in (paths.nights, paths.staging) if place.is_dir() for path in place.iterdir()}
    return [_row(paths, name) for name in sorted(names) if is_night_id(name)]


def review_page(row: NightRow) -> str:
    """The night as one HTML page that loads nothing. Raises `StagingError` where it is not staged."""
    if row.directory is None:
        raise StagingError(f"night {row.night} is not staged")
    try:
        report, diff = (
            (row.directory / name).read_text(encoding="utf-8", errors="replace") for name in ("report.md",
                                                                                              "changes.diff")
        )  # fmt: skip
    except OSError as fault:
        raise StagingError(f"cannot read {fault.filename}: {fault.strerror}") from fault
    waiting = [f"{r.target} {r.id} {r.op} {r.text}" + (f"  [{', '.join(r.screen)}]" if r.screen else "")
               for r in row.rules if r.state == "waits"]  # fmt: skip
    return page(report, diff, waiting)


def _row(paths: StatePaths, name: str) -> NightRow:
    directory = paths.staging / name
    staged = (directory / "manifest.json").is_file()
    row = NightRow(paths.project, name, started_at(name), "unfinished", directory=directory if staged else None)
    try:
        facts = _facts(directory / "report.json" if staged else paths.night(name).result)
        rules = _rules(read_manifest(directory, paths.project), read_receipts(directory)) if staged else ()
    except (StagingError, OSError, ValueError) as fault:
        return NightRow(paths.project, name, row.started, "unreadable", directory=row.directory, problem=str(fault))
    if not facts:
        verdict = "running" if is_locked(paths.home) and name == max(_begun(paths), default="") else "unfinished"
        return NightRow(paths.project, name, row.started, verdict)
    spend = as_object(facts.get("spend"))
    calls, tokens = as_number(spend.get("calls")), as_number(spend.get("tokens"))
    return NightRow(
        paths.project,
        name,
        row.started,
        as_text(facts.get("verdict")),
        rules,
        None if calls is None else int(calls),
        None if tokens is None else int(tokens),
        as_number(spend.get("cost")),
        as_number(spend.get("minutes")),
        row.directory,
    )


def _begun(paths: StatePaths) -> list[str]:
    return [path.name for path in paths.nights.iterdir() if is_night_id(path.name)] if paths.nights.is_dir() else []


def _facts(path: Path) -> dict[str, JsonValue]:
    try:
        return as_object(parse_json(path.read_bytes()))
    except FileNotFoundError:
        return {}


def _rules(manifest: Manifest, receipts: list[Receipt]) -> tuple[NightRule, ...]:
    """The rules with what the receipts say of each."""
    states: dict[tuple[str, str], str] = {}
    for receipt in receipts:
        targets = [receipt.target] if receipt.target else [target.name for target in manifest.targets]
        if receipt.state == "done":
            states |= {(target, rule): receipt.act for target in targets for rule in receipt.rules}
    return tuple(
        NightRule(edit.id, target.name, edit.op, edit.text or edit.rule_id, edit.screen,
                  states.get((target.name, edit.id), "waits"))
        for target in manifest.targets for edit in target.rules
    )  # fmt: skip
