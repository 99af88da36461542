"""Fan-out of events to observers. Observers only read; the fault of one is kept and costs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skillopt.core.events import Event
from skillopt.core.redact import redact

Observer = Callable[[Event], None]


class Events:
    """The run's `Emit`: redacts text, hands each event to every observer, contains their exceptions."""

    def __init__(self, observers: Sequence[Observer] = (), *, secrets: Sequence[str] = ()) -> None:
        self._observers = list(observers)
        self._secrets = tuple(secrets)
        self.faults: list[str] = []

    def add(self, observer: Observer) -> None:
        """Watch from now on."""
        self._observers.append(observer)

    def conceal(self, secrets: Sequence[str]) -> None:
        """Values that must not appear in any event."""
        self._secrets = (*self._secrets, *secrets)

    def __call__(self, name: str, /, **data: Any) -> None:
        """Emit one event. Never raises."""
        event = Event(name, self._clean(data))
        for observer in list(self._observers):
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - an observer's fault must not end a paid run; it is kept and shown
                self._observers.remove(observer)
                self.faults.append(f"observer {observer!r} failed on {name}: {type(error).__name__}: {error}")

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return redact(value, self._secrets)
        if isinstance(value, dict):
            return {k: self._clean(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, (list, tuple)):
            return [self._clean(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return value


def event_log(path: Path) -> Observer:
    """An observer that appends each event but progress to a JSON-lines file."""

    def write(event: Event) -> None:
        if not event.name.endswith(".progress"):
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"event": event.name, **event.data}, ensure_ascii=False, default=str) + "\n")

    return write
