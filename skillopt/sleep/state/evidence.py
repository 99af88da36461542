"""`evidence.jsonl`: what happened in a night, one line an event, append-only, redacted and then cut.

Writing it never stops a night: a failure is counted, and the report says how many lines are missing. Fields that are
texts are cut to `evidence_max_chars`; transcript-derived text stays in this file, outside the repository.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.sleep.errors import StateError
from skillopt.sleep.redact import clean, redact
from skillopt.sleep.state.private import FILE, make_directory

EVENTS: Mapping[str, tuple[str, ...]] = {
    "cycle": ("start", "end"),
    "harvest": ("session",),
    "mine": ("exchange", "task", "task_dropped"),
    "gate": ("baseline", "trial", "verdict"),
    "replay": ("call", "result"),
    "reflect": ("exchange", "edit", "edit_unmatched"),
    "screen": ("hit",),
    "test": ("score",),
    "stage": ("staged",),
}
"""Stage → its events."""


class EvidenceLog:
    """One night's evidence. `write` never raises; `failures` counts what could not be written."""

    def __init__(
        self, path: Path, *, on: bool = True, max_chars: int = 4_000, clock: Callable[[], float] = time.time
    ) -> None:
        self.path, self.failures, self.written = path, 0, 0
        self._on, self._max_chars, self._clock = on, max_chars, clock

    def write(self, stage: str, event: str, **fields: JsonValue) -> None:
        """Append one event. `evidence.write("mine", "task_dropped", task="c1.ab", why="no usable check")`"""
        if not self._on:
            return
        line = {"ts": self._clock(), "stage": stage, "event": event, "seq": self.written + self.failures + 1}
        try:
            if event not in EVENTS.get(stage, ()):
                raise ValueError(f"{stage}/{event} is no event")
            said = {name: self._cut(value) for name, value in fields.items()}
            text = json.dumps({**line, **said}, ensure_ascii=False, allow_nan=False) + "\n"
            self._append(text.encode("utf-8", "backslashreplace"))
        except (OSError, ValueError, TypeError, StateError):
            self.failures += 1
        else:
            self.written += 1

    def _append(self, data: bytes) -> None:
        make_directory(self.path.parent)
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)

    def _cut(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return clean(value, self._max_chars)
        if isinstance(value, Mapping):
            return {redact(name): self._cut(member) for name, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._cut(member) for member in value]
        return value
