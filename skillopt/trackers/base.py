"""A tracker's queue and thread: events are put in without waiting and reach the store when it is ready.

A full queue drops the event and counts it: a run is never delayed. `run.end` and `eval.end` are waited for, within
`drain_s`, so that what was told is stored before the program ends. The first fault of a store is kept in `faults` and
ends the tracker; the run goes on. Replayed events are passed over, except the start, which finds the earlier record.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Protocol, cast

from skillopt.records.events import EvalEnd, Event, RunEnd, RunStart, StageProgress

_MOST = 10_000


class Sink(Protocol):
    """Where events go. Called on the tracker's thread, in order."""

    def take(self, event: Event) -> None:
        """Store what the event says."""
        ...

    def close(self) -> None:
        """Write what is open. Idempotent."""
        ...


class Tracker:
    """An observer in front of a sink."""

    def __init__(self, sink: Sink, *, name: str, drain_s: float = 30.0, most: int = _MOST) -> None:
        self._sink, self._name, self._drain_s = sink, name, drain_s
        self._queue: queue.Queue[Event | None] = queue.Queue(most)
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """Events that came while the queue was full."""
        self.faults: list[str] = []
        """Why it stopped tracking; empty while all is well."""

    def __repr__(self) -> str:
        return self._name

    def __call__(self, event: Event) -> None:
        """Take an event without waiting for the store. The end of a run waits, and raises what went wrong."""
        if isinstance(event, StageProgress) or (event.replayed and not isinstance(event, RunStart | RunEnd | EvalEnd)):
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"tracker {self._name}", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1
        if isinstance(event, RunEnd | EvalEnd):
            self.close()
            if self.faults:
                raise RuntimeError(self.faults[0])

    def close(self) -> None:
        """Store what is queued, within `drain_s`. Idempotent."""
        if self._thread is None:
            return
        try:
            self._queue.put(None, timeout=self._drain_s)
            self._thread.join(self._drain_s)
        except queue.Full:
            pass
        if self._thread.is_alive():
            self.faults.append(f"not everything was stored within {self._drain_s:g} s")
        if self.dropped:
            self.faults.append(f"{self.dropped} events were dropped because the store was too slow")
        self._thread = None

    def _work(self) -> None:
        try:
            while (event := self._queue.get()) is not None:
                self._sink.take(event)
            self._sink.close()
        except Exception as error:  # noqa: BLE001 - a store is foreign code: its fault is kept and shown, the run goes on
            self.faults.append(f"{type(error).__name__}: {error}")
            while self._queue.get() is not None:
                pass


def numbers(value: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every finite number in a record or mapping by its dotted name."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        if value == value and abs(value) != float("inf"):
            yield prefix, float(value)
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from numbers(inner, f"{prefix}.{name}" if prefix else str(name))
    elif is_dataclass(value):
        for each in fields(value):
            yield from numbers(getattr(value, each.name), f"{prefix}.{each.name}" if prefix else each.name)


def metrics_of(event: Event) -> dict[str, float]:
    """The figures of an event that belong on a curve, by name."""
    from skillopt.records.events import BudgetUpdated, GateVerdict, StageEnd, StepEnd

    if isinstance(event, StepEnd) and event.record is not None:
        return dict(numbers(event.record, "step"))
    if isinstance(event, GateVerdict):
        return dict(numbers(event.gate, "gate"))
    if isinstance(event, StageEnd) and event.score is not None:
        return dict(numbers(event.score, event.stage.value))
    if isinstance(event, BudgetUpdated):
        return {f"spent.{k}": v for k, v in numbers(event) if k.split(".")[-1] in ("calls", "tokens", "usd", "hours")}
    if isinstance(event, RunEnd) and event.summary is not None:
        return dict(numbers(event.summary, "summary"))
    if isinstance(event, EvalEnd):
        return dict(numbers(event.summary, "eval"))
    return {}


def step_of(event: Event) -> int:
    """The step an event belongs to; 0 before the first."""
    step = getattr(event, "step", None)
    return step if isinstance(step, int) else 0
