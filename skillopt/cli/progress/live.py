"""Observers that draw: plain lines with a sign of life, or lines with a live bar in the unit that is spent (calls of
the running stage)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from skillopt.cli.console import Screen
from skillopt.cli.progress.heartbeat import EVERY_S, Heartbeat
from skillopt.cli.progress.heartbeat import Progress as RunProgress
from skillopt.cli.progress.narration import Narrator
from skillopt.records.events import Event, StageEnd, StageProgress, StageStart
from skillopt.records.vocabulary import Stage

Key = tuple[Stage, int | None]


class Bars(Progress):
    """A bar for each running stage, below the line of the run as a whole."""

    def __init__(self, run: RunProgress, *columns: ProgressColumn, console: Console) -> None:
        self._of_run = run
        super().__init__(*columns, console=console, transient=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Asked at each refresh, so that the clock and the money go on between events."""
        yield Text(self._of_run.run_line())
        yield self.make_tasks_table(self.tasks)


class Display:
    """Shows a run on a screen. A context manager: the live part is gone when it ends, the lines stay."""

    def __init__(self, screen: Screen, *, workers: int = 0, beat_s: float = EVERY_S) -> None:
        self._screen = screen
        self._narrator = Narrator(workers=workers)
        self._run = RunProgress()
        self._progress: Bars | None = None
        self._heart: Heartbeat | None = None if screen.live else Heartbeat(self._line, self._run, every=beat_s)
        self._lock = threading.Lock()
        self._tasks: dict[Key, TaskID] = {}

    def __enter__(self) -> Display:
        if self._heart is not None:
            self._heart.__enter__()
        if self._screen.live:
            self._progress = Bars(
                self._run,
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TextColumn("calls"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._screen.console,
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the live part, so that questions and tables can be printed. Idempotent."""
        if self._heart is not None:
            self._heart.__exit__()
            self._heart = None
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    @property
    def bars(self) -> tuple[Key, ...]:
        """The stages that have a bar now."""
        return tuple(self._tasks)

    def __call__(self, event: Event) -> None:
        """Observe one event."""
        self._run.see(event)
        for line in self._narrator.tell(event):
            if self._heart is not None:
                self._heart.said()
            self._line(line)
        if self._progress is not None:
            self._draw(self._progress, event)

    def _line(self, text: str) -> None:
        with self._lock:
            self._screen.line(text)

    def _draw(self, progress: Progress, event: Event) -> None:
        if isinstance(event, StageStart):
            title = event.stage.heading + (f" {event.label}" if event.label else "")
            title += f" (step {event.step})" if event.step and event.stage.of_a_step else ""
            self._drop(progress, (event.stage, event.step))
            self._tasks[event.stage, event.step] = progress.add_task(title, total=event.total or None)
        elif isinstance(event, StageProgress) and (event.stage, event.step) in self._tasks:
            progress.update(self._tasks[event.stage, event.step], completed=event.done, total=event.total)
        elif isinstance(event, StageEnd):
            self._drop(progress, (event.stage, event.step))

    def _drop(self, progress: Progress, key: Key) -> None:
        if key in self._tasks:
            progress.remove_task(self._tasks.pop(key))
