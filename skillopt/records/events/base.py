"""What all events have in common, their stamp, and how they are handed on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, Protocol, TypeVar

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import encode_record

EVENT_VERSION = 1
STAMP = ("seq", "time", "run_id", "replayed")
"""Fields that say when an event was told, not what."""

Outcome = Literal["done", "stopped", "failed"]
"""How what had started ended: in full, by a stop in order (budget, patience, fault of the provider, Ctrl-C), or by an
error."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events have. `name` is dotted; an observer object's method for it is `on_` and the name with `_`."""

    name: ClassVar[str] = ""
    seq: int = 0
    time: float = 0.0
    run_id: str = ""
    replayed: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """A line of `logs/events.jsonl`: the name first."""
        return {"event": self.name, **encode_record(self)}

    def told(self) -> JsonObject:
        """The event without its stamp: equal for what is told twice."""
        return {k: v for k, v in self.to_json().items() if k not in STAMP}


E = TypeVar("E", bound=Event)


class Emit(Protocol):
    """Hands one event to whoever watches. Never raises."""

    def __call__(self, event: Event, /) -> None: ...


def silent(event: Event, /) -> None:
    """An `Emit` for nobody."""
    del event


def stamped(event: E, *, seq: int, time: float, run_id: str, replayed: bool) -> E:
    """The event with its stamp; nested records are shared."""
    values = {each.name: getattr(event, each.name) for each in fields(event)}
    values.update(seq=seq, time=time, run_id=run_id, replayed=replayed)
    return type(event)(**values)
