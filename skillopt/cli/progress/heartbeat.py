"""A sign of life where no live display is drawn: step N of M, what is done of the stage, time left, money so far.

Piped output is silent between the lines of a run's story, and a stage may take many minutes. A line is said whenever
nothing was for a while, by a thread of its own, because a model that computes in this process may hold up everything
else. What is said comes from the events alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from skillopt.cli.wording import clock_time, duration, thousands, usd
from skillopt.records.events import (
    BudgetUpdated,
    Event,
    OutageEnd,
    OutageStart,
    RunStart,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.vocabulary import Stage

EVERY_S = 60.0


@dataclass
class _Running:
    """A stage that has begun and not ended. `begun` by the clock."""

    stage: Stage
    begun: float
    done: int = 0
    total: int = 0


class Progress:
    """What is known of a run from its events. `clock` is for tests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._steps_begun: float | None = None
        self._step, self._finished, self._total = 0, 0, 0
        self._in_step = False
        self._running: dict[Stage, _Running] = {}
        self._spent: BudgetUpdated | None = None
        self._down: dict[str, float] = {}
        """Endpoints that are waited for, and since when (seconds since 1970)."""

    def see(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, RunStart):
            self._total = event.total_steps
        elif isinstance(event, StageStart):
            self._running[event.stage] = _Running(event.stage, self._clock(), 0, event.total or 0)
        elif isinstance(event, StageProgress) and event.stage in self._running:
            running = self._running[event.stage]
            running.done, running.total = event.done, event.total
        elif isinstance(event, StageEnd):
            self._running.pop(event.stage, None)
        elif isinstance(event, StepStart):
            self._step, self._total, self._in_step = event.step, event.total_steps or self._total, True
            self._steps_begun = self._clock() if self._steps_begun is None else self._steps_begun
        elif isinstance(event, StepEnd):
            # What a resumed run repeats from its journal takes no time and tells nothing about the rest.
            if event.replayed:
                self._steps_begun = self._clock()
            else:
                self._finished += 1
            self._step, self._in_step = event.step, False
        elif isinstance(event, OutageStart):
            self._down[event.endpoint] = event.time - event.lasted_s
        elif isinstance(event, OutageEnd):
            self._down.pop(event.endpoint, None)
        elif isinstance(event, BudgetUpdated):
            self._spent = event

    def line(self) -> str:
        """`[Step 3/12] Rollout 14 of 32 (about 2 min more); 25 min so far, about 1.2 h left; 90 calls, 41,000 tokens,
        $0.12`."""
        stages = ", ".join(self._stage_words(r) for r in list(self._running.values())) or "working"
        waiting = self._waiting()
        return f"{self._at()}{f'{waiting} ({stages})' if waiting else stages}; {self._rest()}"

    def run_line(self) -> str:
        """The same without the stages, which a live display shows as bars."""
        waiting = self._waiting()
        return f"{self._at()}{f'{waiting}; ' if waiting else ''}{self._rest()}"

    def _waiting(self) -> str:
        down = list(self._down.values())
        return f"waiting for the endpoint since {clock_time(min(down))}" if down else ""

    def _at(self) -> str:
        return f"[Step {self._step}/{self._total}] " if self._step and self._total else ""

    def _rest(self) -> str:
        return f"{duration(self._clock() - self._begun)} so far{self._left()}{self._money()}"

    def _left(self) -> str:
        if not self._total or (self._step == self._total and not self._in_step):
            return ""
        if not self._finished or self._steps_begun is None:
            return ", time left unknown until a step is done"
        one = (self._clock() - self._steps_begun) / (self._finished + 0.5)
        return f", about {duration(one * (self._total - self._step + (0.5 if self._in_step else 0.0)))} left"

    def _money(self) -> str:
        spent = self._spent
        if spent is None:
            return ""
        cost = "money unknown" if spent.usd is None else usd(spent.usd)
        return f"; {thousands(spent.calls)} calls, {thousands(spent.tokens)} tokens, {cost}"

    def _stage_words(self, running: _Running) -> str:
        if not running.total or not running.done:
            return running.stage.heading
        words = f"{running.stage.heading} {running.done} of {running.total}"
        if running.done >= running.total:
            return words
        more = (self._clock() - running.begun) / running.done * (running.total - running.done)
        return f"{words} (about {duration(more)} more)"


class Heartbeat:
    """Says a line of `Progress` when `say` was not used for `every` seconds. A context manager; `say` must be safe to
    call from another thread."""

    def __init__(self, say: Callable[[str], None], progress: Progress, *, every: float = EVERY_S) -> None:
        self.progress = progress
        self._say, self._every = say, every
        self._last = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="skillopt-heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._over.set()
        self._thread.join(timeout=5)

    def said(self) -> None:
        """Something else was said: the next beat waits anew."""
        self._last = time.monotonic()

    def _beat(self) -> None:
        while not self._over.wait(max(0.01, self._last + self._every - time.monotonic())):
            if time.monotonic() - self._last >= self._every:
                self.said()
                self._say(self.progress.line())
