"""`skillopt judge calibrate`: what a judge's word is worth, as a table and as rows where people say otherwise."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from skillopt.api.given.configuring import Resolved
from skillopt.api.runs.calibration import RESULT, Calibrating, Calibration, Figure, parse_scale, prepare
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.cli.wording import interval, plural, thousands, usd

_ROWS = 20
_WORDS = 160


@dataclass(frozen=True)
class CalibrateArgs:
    """The arguments."""

    labels: Path
    repeats: int
    scale: str
    replay: bool
    yes: bool
    as_json: bool


def run_calibration(resolved: Resolved, asked: CalibrateArgs) -> int:
    """`skillopt judge calibrate`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    calibrating = prepare(
        resolved, asked.labels, repeats=asked.repeats, scale=parse_scale(asked.scale), replay=asked.replay
    )
    for text in calibrating.notices:
        screen.line(f"note: {text}")
    if not asked.replay and not _agreed(screen, calibrating, yes=asked.yes):
        screen.line("not started")
        return faults.DONE
    out_root = calibrating.place.claim()
    with Display(screen) as display:
        result = asyncio.run(calibrating.run(out_root, [display], replay=asked.replay))
    show(screen, result)
    screen.line(f"Result: {out_root / RESULT}")
    if asked.as_json:
        Screen(whole=True).line(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
    return faults.STOPPED if result.failed else faults.DONE


def _agreed(screen: Screen, calibrating: Calibrating, *, yes: bool) -> bool:
    """The plan; asks once, at a terminal, when it may cost money."""
    question = calibrating.question
    answers = plural(len(question.labels.answers), "answer")
    screen.line(
        f"Plan: {answers} ({question.labels.kind}), {plural(question.repeats, 'time')} each: "
        f"{thousands(question.calls)} calls, money about {usd(calibrating.usd)}"
    )
    if yes or not calibrating.usd:
        return True
    if not screen.live or not sys.stdin.isatty():
        screen.line("note: there is no terminal to ask at, so it starts without asking")
        return True
    return typer.confirm(f"This may cost about {usd(calibrating.usd)}. Start?", default=False)


def show(screen: Screen, found: Calibration) -> None:
    """The figures, then the rows."""
    screen.line()
    screen.line(
        f"Judge {found.judge}, scorer {found.scorer}: {found.measured} of {plural(found.answers, 'answer')} "
        f"({plural(found.items, 'item')}, {plural(found.labels, 'label')}), {plural(found.repeats, 'verdict')} each"
    )
    for name, figure, meaning in (
        ("agreement", found.agreement, "one verdict is that of one person"),
        ("beyond chance", found.kappa, f"Cohen's kappa; chance alone gives {found.chance:.3f}"),
        ("people", found.people, "two people say the same of an answer"),
        ("rank correlation", found.rank, "Spearman's, one grade against the mean label"),
        ("leniency", found.leniency, "what the judge gives more than people do"),
        ("noise", found.noise, "two verdicts on one answer differ"),
        ("spread", found.spread, "mean distance of two grades of one answer, 0 to 1"),
        ("position", found.position, "what an answer wins by being shown first; 0 is never"),
        ("contradicted", found.contradicted, "the other order gave another verdict"),
    ):
        if figure is not None:
            screen.line(f"  {name:<17} {_figure(figure)}: {meaning}")
    for text in found.notices:
        screen.line(f"warning: {text}")
    _show_rows(screen, found)
    if found.stopped:
        screen.line(f"stopped: {found.stopped}")


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return f"not measured ({figure.reason})"
    note = f" ({figure.reason})" if figure.reason else ""
    return f"{figure.value:.3f} {interval(figure.interval)} on {plural(figure.n, 'item')}{note}"


def _show_rows(screen: Screen, found: Calibration) -> None:
    rows = found.disagreements
    if not rows:
        screen.line("Judge and people agree on every answer that was measured.")
        return
    screen.line(f"They differ on {plural(len(rows), 'answer')}:")
    for row in rows[:_ROWS]:
        reason = " ".join(row.reason.split())
        screen.line(
            f"  {row.where} (item {row.item}): people {row.people}, judge {row.judge} ({row.against} of {row.draws})"
            + (f": {reason[:_WORDS]}" if reason else "")
        )
    if len(rows) > _ROWS:
        screen.line(f"  and {len(rows) - _ROWS} more")
