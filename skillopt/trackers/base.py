"""What all trackers share: which events reach a store, and the figures of an event.

A tracker is an observer in front of a sink. Progress does not reach the sink, nor does what an earlier process of the
run has told; but where something new comes inside a step or stage that had begun before, the sink hears of that
beginning first. Whoever watches a run puts a queue around the tracker (`engine.run.telling.delivery`), so a sink may
take its time and raise what goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Protocol, TypeAlias, cast

from skillopt.records.events import (
    BudgetUpdated,
    BudgetWarning,
    EvalEnd,
    Event,
    GateVerdict,
    Notice,
    RunEnd,
    RunStart,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)

_Frame: TypeAlias = tuple[object, ...]
_FRAMELESS = (RunEnd, BudgetUpdated, BudgetWarning, Notice)
"""What says nothing of the step or stage that it comes in."""


class Sink(Protocol):
    """Where events go, in order, one at a time. What it raises is shown to the user and ends the tracking."""

    def take(self, event: Event) -> None:
        """Store what the event says."""
        ...

    def close(self) -> None:
        """Write what is open; the run is over. Idempotent."""
        ...


class Tracker:
    """An observer in front of a sink. `drain_s` is what the end of a run may wait for it."""

    def __init__(
        self,
        sink: Sink,
        *,
        name: str,
        drain_s: float = 30.0,
        on_request: Sequence[str] = (),
        notices: Sequence[str] = (),
    ) -> None:
        self._sink, self._name = sink, name
        self.drain_s, self.on_request, self.notices = drain_s, tuple(on_request), tuple(notices)
        self._held: dict[_Frame, Event] = {}
        """What began earlier, was told then, and has not ended."""
        self._open: set[_Frame] = set()
        """What the sink knows to have begun."""

    def __repr__(self) -> str:
        return self._name

    def __call__(self, event: Event) -> None:
        """Hand an event to the sink, if it is for it."""
        for each in self._due(event):
            self._sink.take(each)
        if isinstance(event, RunEnd):
            self._sink.close()

    def _due(self, event: Event) -> Iterator[Event]:
        if isinstance(event, StageProgress):
            return
        if isinstance(event, RunStart):
            self._held.clear()
            self._open.clear()
        elif event.replayed and not isinstance(event, RunEnd):
            if _begins(event):
                self._held[_frame(event)] = event
                return
            self._held.pop(_frame(event), None)
            if _frame(event) not in self._open:
                return
        if not isinstance(event, _FRAMELESS):
            for each in self._held.values():
                self._open.add(_frame(each))
                yield each
            self._held.clear()
        if _begins(event):
            self._open.add(_frame(event))
        else:
            self._open.discard(_frame(event))
        yield event


def _begins(event: Event) -> bool:
    return isinstance(event, (StepStart, StageStart))


def _frame(event: Event) -> _Frame:
    """What a start has in common with its end."""
    if isinstance(event, (StageStart, StageEnd)):
        return ("stage", event.stage, event.step, event.epoch)
    return ("step", event.step) if isinstance(event, (StepStart, StepEnd)) else (event.name,)


def numbers(value: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every finite number in a record or mapping by its dotted name; an interval as `_lower` and `_upper`."""
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
    elif isinstance(value, tuple):
        ends = cast("tuple[object, ...]", value)
        if len(ends) == 2 and all(isinstance(end, (int, float)) for end in ends):
            yield from numbers(ends[0], f"{prefix}_lower")
            yield from numbers(ends[1], f"{prefix}_upper")


def metrics_of(event: Event) -> dict[str, float]:
    """The figures of an event that belong on a curve, by name."""
    if isinstance(event, StepEnd) and event.record is not None:
        return dict(numbers(event.record, "step"))
    if isinstance(event, GateVerdict):
        return dict(numbers(event.gate, "gate"))
    if isinstance(event, StageEnd) and event.score is not None:
        return dict(numbers(event.score, event.stage.value))
    if isinstance(event, BudgetUpdated):
        return {f"spent.{k}": v for k, v in numbers(event) if k in ("calls", "tokens", "usd", "hours")}
    if isinstance(event, RunEnd) and event.summary is not None:
        return dict(numbers(event.summary, "summary"))
    if isinstance(event, EvalEnd) and event.summary is not None:
        return dict(numbers(event.summary, f"eval.{event.skill}" if event.skill else "eval"))
    return {}


def step_of(event: Event) -> int:
    """The step an event belongs to; 0 before the first."""
    step = getattr(event, "step", None)
    return step if isinstance(step, int) else 0
