"""`skillopt review`: what was decided about each change of a run's skill, further decisions, and their measuring."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.api.looking import visible
from skillopt.api.reviewing import Review, decide, measure, review
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.core.errors import DataError
from skillopt.records.beside.review import Choice, ReviewRecord

_SHOWN = 4


@dataclass(frozen=True)
class ReviewRequest:
    """The arguments. `change` holds `ORIGIN=FILE`."""

    run: Path
    accept: Sequence[str] = ()
    refuse: Sequence[str] = ()
    change: Sequence[str] = ()
    note: str = ""
    by: str = ""
    measured: bool = False
    as_json: bool = False


def run_review(asked: ReviewRequest) -> int:
    """`skillopt review`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    decisions: dict[str, Choice | tuple[Choice, str]] = dict.fromkeys(asked.accept, "accept")
    decisions |= dict.fromkeys(asked.refuse, "refuse")
    decisions |= {name: ("change", text) for name, text in map(_changed, asked.change)}
    if decisions:
        decide(asked.run, decisions, by=asked.by, note=asked.note)
    found: ReviewRecord | None = None
    if asked.measured:
        with Display(screen, workers=1) as display:
            found = measure(asked.run, on_event=display)
    seen = review(asked.run)
    if asked.as_json:
        Screen(whole=True).line(json.dumps(seen.record.to_json(), ensure_ascii=False, indent=2))
    else:
        _show(screen, seen)
    return faults.STOPPED if found is not None and found.reason.startswith("not measured") else faults.DONE


def _changed(asked: str) -> tuple[str, str]:
    name, sign, file = asked.partition("=")
    if not sign:
        raise DataError(f"--change {asked}: name the change and a file with its new lines", hint="--change NAME=FILE")
    try:
        return name, Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--change {asked}: {error}", hint="name a text file with the new lines") from error


def _show(screen: Screen, seen: Review) -> None:
    if seen.outdated:
        screen.line("note: the review in this run is of an earlier best skill; decisions begin anew")
    for change in seen.changes:
        worth, decision = change.worth, change.decision
        screen.line(f"{worth.name}  {worth.label}", style="bold")
        for line in worth.lines[:_SHOWN]:
            screen.line(f"  {visible(line, 200)}")
        if len(worth.lines) > _SHOWN:
            screen.line(f"  … {len(worth.lines) - _SHOWN} more")
        screen.line(
            f"  {visible(change.verdict, 300)}; {visible(worth.measured, 200)}; drawn from {len(change.items)} items"
        )
        if decision is not None:
            note = f": {visible(decision.note, 200)}" if decision.note else ""
            screen.line(f"  decided: {decision.choice} ({visible(decision.by, 60)}, {decision.at}){note}")
    if not seen.changes:
        screen.line("No change has lines in the best skill: there is nothing to review.")
    record = seen.record
    if record.accepted:
        screen.line(f"The reviewed text is a version: {seen.run.root}@reviewed ({record.reason})")
    elif record.reason:
        screen.line(f"No version: {record.reason}")
    elif record.changes:
        screen.line("The decisions leave a text that was not measured yet: add --measure")
