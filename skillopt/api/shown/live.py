"""A run shown while it is on, in a notebook: one output of the cell, drawn again as the run goes.

Only where IPython is imported already and a kernel runs it; nothing is imported for it anywhere else. Events may come
from any thread; what is drawn is drawn in the thread that started the run, because an output belongs to the cell that
runs there, and at most twice a second. What stays in the notebook afterwards holds no clock, so a notebook that is run
again says the same.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module

from skillopt.records.events import (
    BudgetUpdated,
    CandidateAccepted,
    CandidateRejected,
    Event,
    RunEnd,
    RunStart,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.vocabulary import Stage

EVERY_S = 0.5
Bundle = Mapping[str, str]


Surface = Callable[[Bundle, str, bool], object]
"""Shows a bundle of forms under a name: (bundle, name, whether it is the first time)."""


@dataclass(frozen=True)
class Seen:
    """What is known of a run from its events."""

    step: int = 0
    total_steps: int = 0
    finished: int = 0
    stage: Stage | None = None
    done: int = 0
    total: int = 0
    best: float | None = None
    kept: int = 0
    rejected: int = 0
    calls: int = 0
    usd: float | None = None
    ended: str = ""

    def after(self, event: Event) -> Seen:
        """With one event more."""
        if isinstance(event, RunStart):
            return replace(self, total_steps=event.total_steps)
        if isinstance(event, StepStart):
            return replace(self, step=event.step, total_steps=event.total_steps or self.total_steps)
        if isinstance(event, StageStart):
            return replace(self, stage=event.stage, done=0, total=event.total or 0)
        if isinstance(event, StageProgress):
            return replace(self, stage=event.stage, done=event.done, total=event.total)
        if isinstance(event, StageEnd):
            return replace(self, stage=None, done=0, total=0) if event.stage is self.stage else self
        if isinstance(event, StepEnd):
            best = event.record.best_score if event.record is not None else self.best
            return replace(self, step=event.step, finished=self.finished + 1, best=best)
        if isinstance(event, CandidateAccepted):
            return replace(self, kept=self.kept + 1)
        if isinstance(event, CandidateRejected):
            return replace(self, rejected=self.rejected + 1)
        if isinstance(event, BudgetUpdated):
            return replace(self, calls=event.calls, usd=event.usd)
        if isinstance(event, RunEnd):
            ended = "finished" if event.outcome == "done" else "stopped"
            return replace(self, ended=ended, stage=None)
        return self

    def words(self) -> str:
        """One line: `Step 3 of 12, Rollout 14 of 32; best selection score 0.61; 2 kept, 1 rejected; 412 calls`."""
        at = f"step {self.step} of {self.total_steps}" if self.total_steps else "begins"
        if self.ended:
            at = f"{self.ended}: {self.finished} of {self.total_steps} steps"
        elif self.stage is not None:
            at += f", {self.stage.heading}" + (f" {self.done} of {self.total}" if self.total else "")
        parts = [at[:1].upper() + at[1:]]
        if self.best is not None:
            parts.append(f"best selection score {self.best:.3f}")
        if self.kept or self.rejected:
            parts.append(f"{self.kept} kept, {self.rejected} rejected")
        if self.calls and not self.ended:
            parts.append(f"{self.calls:,} calls" + ("" if self.usd is None else f", ${self.usd:,.4f}"))
        return "; ".join(parts)

    def bundle(self) -> Bundle:
        """As text and as HTML without scripts: a bar over the steps, the line, and a bar over the stage."""
        bars = [_bar(self.finished, self.total_steps)] if self.total_steps else []
        if self.stage is not None and self.total:
            bars.append(_bar(self.done, self.total))
        html = f'<div style="font:13px system-ui,sans-serif">{" ".join(bars)} {escape(self.words())}</div>'
        return {"text/plain": self.words(), "text/html": html}


def _bar(done: int, total: int) -> str:
    return f'<progress value="{done}" max="{total}"></progress>'


class LiveView:
    """Watches one run and draws it; without a surface it draws nothing. `draw` may be called as often as one likes, in
    the end with `last=True`. A surface that fails is given up: `faults` says why, and the run goes on."""

    def __init__(self, surface: Surface | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._surface, self._clock = surface, clock
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._seen: Seen = Seen()
        self._drawn: Seen = Seen()
        self._name = f"skillopt-{uuid.uuid4().hex}"
        self._next: float | None = None
        self.faults: tuple[str, ...] = ()

    def __call__(self, event: Event) -> None:
        """Observe one event."""
        with self._lock:
            self._seen = self._seen.after(event)
        if threading.get_ident() == self._thread:
            self.draw()

    def draw(self, *, last: bool = False) -> None:
        """Show what is new, at most every half second; the last time at once, if anything was shown or seen."""
        with self._lock:
            seen = self._seen
        now = self._clock()
        surface = self._surface
        if surface is None or seen == self._drawn or (not last and self._next is not None and now < self._next):
            return
        try:
            surface(seen.bundle(), self._name, self._next is None)
        except Exception as error:  # noqa: BLE001 - a display's fault must not end a paid run; it is kept and shown
            self._surface, self.faults = None, (f"the notebook's display: {type(error).__name__}: {error}",)
        self._drawn = seen
        self._next = now + EVERY_S


@contextmanager
def shown_live() -> Generator[LiveView, None, None]:
    """A view of the run of this block, in the cell that is running; one that draws nothing outside of a notebook and in
    its other threads."""
    view = LiveView(_in_the_cell if _in_a_notebook() else None)
    try:
        yield view
    finally:
        view.draw(last=True)


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    if ipython is None or threading.current_thread() is not threading.main_thread():
        return False
    return getattr(ipython.get_ipython(), "kernel", None) is not None


def _in_the_cell(bundle: Bundle, name: str, first: bool) -> None:
    display = import_module("IPython.display")
    show = display.display if first else display.update_display
    show(dict(bundle), raw=True, display_id=name)
