"""`skillopt train --seeds N` and `plan --seeds N`: several runs of one configuration, told side by side."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.table import Table

from skillopt.api.given.configuring import Resolved
from skillopt.api.runs.seeds import Observer, folder, prepare_seeds
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.heartbeat import EVERY_S, Heartbeat, Progress
from skillopt.cli.progress.narration import Narrator
from skillopt.cli.progress.train_log import TrainLog
from skillopt.cli.train import TrainArgs, agreed, announce
from skillopt.cli.wording import interval, points, score_words
from skillopt.records.beside.seeds import SeedsSummary
from skillopt.records.directory import LOGS
from skillopt.records.events import Event


class SideBySide:
    """The lines of several runs, each with its seed in front, and a sign of life while nothing is said. A context
    manager."""

    def __init__(self, screen: Screen, *, workers: int = 0, beat_s: float = EVERY_S) -> None:
        self._screen, self._workers = screen, workers
        self._heart = Heartbeat(self._line, Progress(), every=beat_s)
        self._lock = threading.Lock()

    def __enter__(self) -> SideBySide:
        self._heart.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heart.__exit__()

    def of(self, seed: int | None) -> Observer:
        """The observer of one run, or of what is asked once for all."""
        name = "all" if seed is None else f"seed {seed}"
        narrator = Narrator(workers=self._workers)

        def see(event: Event) -> None:
            self._heart.progress.see(event)
            for line in narrator.tell(event):
                self._heart.said()
                self._line(f"{name} | {line}" if line.strip() else line)

        return see

    def _line(self, text: str) -> None:
        with self._lock:
            self._screen.line(text)


def run_seeds_plan(resolved: Resolved, count: int) -> int:
    """`skillopt plan --seeds N`."""
    training = prepare_seeds(resolved, count)
    announce(Screen(), training)
    training.refuse()
    return faults.DONE


def run_seeds(resolved: Resolved, count: int, asked: TrainArgs) -> int:
    """`skillopt train --seeds N`."""
    screen = Screen()
    training = prepare_seeds(resolved, count, replay=asked.replay)
    announce(screen, training)
    training.refuse()
    if not asked.replay and not asked.yes and not agreed(screen, training.plan):
        screen.line("not started")
        return faults.DONE
    parent = training.claim()
    screen.line()
    with SideBySide(screen, workers=resolved.config.env.workers) as told:

        def watch(seed: int | None) -> Sequence[Observer]:
            log = parent / folder(seed) / LOGS / "train.log" if seed is not None else parent / LOGS / "train.log"
            return [told.of(seed), TrainLog(log)]

        ended = asyncio.run(training.run(parent, watch, replay=asked.replay, allow_change=asked.allow_config_change))
    show_seeds(screen, ended.summary, parent)
    for text in ended.late:
        screen.line(f"note: {text}")
    if ended.stopped:
        screen.line(f"stopped: {ended.stopped}")
    return faults.STOPPED if ended.by_fault else faults.DONE


def show_seeds(screen: Screen, summary: SeedsSummary, parent: Path) -> None:
    """The joint verdict and a row a run."""
    screen.line()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("seed", f"sealed test ({summary.metric})", "gain", "95 % interval", "proven", "jointly", "reading"):
        table.add_column(name, no_wrap=True)
    for row in summary.rows:
        found = row.difference
        table.add_row(
            str(row.seed),
            score_words(row.test, row.test.shown),
            points(found.delta) if found else "not measured",
            interval(found.interval if found else None),
            "yes" if row.proven else "no",
            "yes" if row.proven_jointly else "no",
            str(row.reading) if row.reading else "–",
        )
    screen.show(table)
    screen.line(summary.verdict, style="bold")
    screen.line(f"Best skill: {parent / 'best_skill.md'}")
    screen.line(f"Report: {parent / 'report.md'}")
