"""What happened in a night, one JSON line an event: append-only, redacted, then cut.

Writing it never stops a night; what could not be written is counted for the report.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.core.redact import redact
from skillopt.sleep.state.private import make_directory


class Evidence:
    """The file of one night. `path` None writes nothing."""

    def __init__(self, path: Path | None, *, max_chars: int, clock: Callable[[], float] = time.time) -> None:
        self._path, self._max, self._clock = path, max_chars, clock
        self._seq = 0
        self.failures = 0

    def add(self, stage: str, event: str, fields: Mapping[str, JsonValue]) -> None:
        """Append an event."""
        self._seq += 1
        if self._path is None:
            return
        line = {"ts": round(self._clock(), 3), "stage": stage, "event": event, "seq": self._seq}
        text = json.dumps({**line, **{name: self._shown(value) for name, value in fields.items()}}, ensure_ascii=False)
        try:
            make_directory(self._path.parent)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, (text + "\n").encode("utf-8", "replace"))
            finally:
                os.close(handle)
        except OSError:
            self.failures += 1

    def _shown(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return redact(value)[: self._max]
        if isinstance(value, Mapping):
            return {name: self._shown(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._shown(part) for part in value]
        return value
