"""What observers see. One frozen object per event; observers only read, and the engine contains their faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Event:
    """`name` is dotted (`stage.start`, `stage.progress`, `gate.verdict`, `run.end`); `data` is JSON-serialisable."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Emit(Protocol):
    """Hands one event to whoever watches. Never raises."""

    def __call__(self, name: str, /, **data: Any) -> None: ...


def silent(name: str, /, **data: Any) -> None:
    """An `Emit` for nobody."""
