"""What `skillopt train` and `skillopt plan` do once their configuration is resolved."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from skillopt.api.given.configuring import Resolved
from skillopt.api.runs.prepared import Prepared
from skillopt.api.runs.training import Ended, Plan, prepare
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.cli.progress.train_log import TrainLog
from skillopt.cli.show import show_bill, show_plan, show_result
from skillopt.cli.wording import usd
from skillopt.records.directory import LOGS
from skillopt.records.reading import open_run


@dataclass(frozen=True)
class TrainArgs:
    """How a run was asked for."""

    replay: bool
    allow_config_change: bool
    yes: bool


def run_plan(resolved: Resolved) -> int:
    """`skillopt plan`."""
    training, screen = prepare(resolved), Screen()
    announce(screen, training)
    text = training.bottleneck()
    screen.line(f"{text[0].upper()}{text[1:]}")
    training.refuse()
    return faults.DONE


def announce(screen: Screen, training: Prepared) -> None:
    """What the user should know, and what it would take."""
    for text in training.notices:
        screen.line(f"note: {text}")
    show_plan(screen, training.plan)


def run_training(resolved: Resolved, asked: TrainArgs) -> int:
    """`skillopt train`."""
    screen = Screen()
    training = prepare(resolved, replay=asked.replay)
    announce(screen, training)
    training.refuse()
    if not asked.replay and not asked.yes and not agreed(screen, training.plan):
        screen.line("not started")
        return faults.DONE
    out_root = training.claim()
    screen.line()
    with Display(screen, workers=resolved.config.env.workers) as display:
        observers = [display, TrainLog(out_root / LOGS / "train.log")]
        ended = asyncio.run(
            training.run(out_root, observers, replay=asked.replay, allow_change=asked.allow_config_change)
        )
    _conclude(screen, out_root, training.plan, ended.late)
    if ended.stopped:
        screen.line(f"stopped: {ended.stopped}")
    return exit_code(ended)


def exit_code(ended: Ended) -> int:
    """Patience and a budget are ends that were asked for; only a fault makes a stopped run fail."""
    return faults.STOPPED if ended.failed else faults.DONE


def agreed(screen: Screen, forecast: Plan) -> bool:
    """Ask once, only at a terminal and only when money will be spent; the answer that costs nothing is the default."""
    money = forecast.usd
    if money is None or money.high <= 0:
        return True
    cost = f"up to {usd(money.high)}"
    if not screen.live or not sys.stdin.isatty():
        screen.line(f"note: this may cost {cost}; there is no terminal to ask at, so it starts without asking")
        return True
    return typer.confirm(f"This may cost {cost}. Start?", default=False)


def _conclude(screen: Screen, out_root: Path, forecast: Plan, problems: Sequence[str]) -> None:
    run = open_run(out_root)
    show_result(screen, run)
    screen.line(f"Report: {out_root / 'report.md'}")
    show_bill(screen, run.ledger, run.clock, forecast)
    for text in problems:
        screen.line(f"note: {text}")
