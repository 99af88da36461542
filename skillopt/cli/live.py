"""Observers that draw: plain lines, or lines with a live bar in the unit that is spent (calls of the running stage)."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from skillopt.cli.console import Screen
from skillopt.cli.narration import Story
from skillopt.core.events import Event

_TITLES = {
    "baseline": "Baseline",
    "rollout": "Rollout",
    "reflect": "Reflect",
    "deep_rollout": "Readouts",
    "aggregate": "Aggregate",
    "select": "Select",
    "race": "Race",
    "update": "Update",
    "evaluate": "Gate",
    "slow_update": "Slow update",
    "longitudinal": "Two skills compared",
    "meta_skill": "Meta skill",
    "meta_reflect": "Meta reflect",
    "final_selection": "Final check",
    "test": "Sealed test",
}


class Display:
    """Shows a run on a screen. A context manager: the live part is gone when it ends, the lines stay."""

    def __init__(self, screen: Screen, *, workers: int = 0) -> None:
        self._screen = screen
        self._story = Story(workers=workers)
        self._progress: Progress | None = None
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Display:
        if self._screen.live:
            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TextColumn("calls"),
                TimeElapsedColumn(),
                console=self._screen.console,
                transient=True,
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the live part, so that questions and tables can be printed. Idempotent."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, event: Event) -> None:
        """Observe one event."""
        for line in self._story.tell(event):
            self._screen.line(line)
        if self._progress is not None and event.name.startswith("stage."):
            self._draw(self._progress, event)

    def _draw(self, progress: Progress, event: Event) -> None:
        stage = str(event.data.get("stage"))
        total = event.data.get("total")
        if event.name == "stage.start":
            step = event.data.get("step")
            title = _TITLES.get(stage, stage)
            title += f" (step {step})" if step and stage not in ("baseline", "final_selection", "test") else ""
            self._drop(progress, stage)
            self._tasks[stage] = progress.add_task(title, total=total or None)
        elif event.name == "stage.progress" and stage in self._tasks:
            progress.update(self._tasks[stage], completed=event.data.get("done"), total=total)  # pyright: ignore[reportArgumentType]
        elif event.name == "stage.end":
            self._drop(progress, stage)

    def _drop(self, progress: Progress, stage: str) -> None:
        if stage in self._tasks:
            progress.remove_task(self._tasks.pop(stage))  # pyright: ignore[reportArgumentType]
