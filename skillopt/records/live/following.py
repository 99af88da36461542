"""The events of a run as they come: what has been added to `logs/events.jsonl` since one last looked."""

from __future__ import annotations

from pathlib import Path

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import as_object, parse_json
from skillopt.records.directory import LOGS
from skillopt.records.events import Event, read_event

EVENTS_FILE = f"{LOGS}/events.jsonl"
BLOCK = 4 * 2**20
"""The most that is read at once."""


class Follower:
    """Reads each line once; a line that is still being written waits for its end. Lines that are no event of this
    version are passed over. `at_end` starts behind what is there already."""

    def __init__(self, root: Path, *, at_end: bool = False) -> None:
        self._path = root / EVENTS_FILE
        self._offset = self._size() if at_end else 0
        self.again = False
        """Whether the file was replaced by a shorter one, and reading began anew."""

    def new(self) -> list[Event]:
        """What has come since the last time, at most a block of it: ask until nothing comes. Blocking."""
        size = self._size()
        self.again = size < self._offset
        if self.again:
            self._offset = 0
        if size == self._offset:
            return []
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                block = stream.read(min(BLOCK, size - self._offset))
        except OSError:  # taken away between two looks
            return []
        whole = block.rfind(b"\n") + 1
        if not whole and len(block) == BLOCK:
            whole = len(block)  # a line beyond all measure is no event
        self._offset += whole
        return [event for line in block[:whole].split(b"\n") if (event := _event(line)) is not None]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:  # the run has not begun yet
            return 0


def _event(line: bytes) -> Event | None:
    if not line.strip():
        return None
    try:
        raw = as_object(parse_json(line))
        return read_event(raw) if "seq" in raw else None
    except (ValueError, RunDirError):
        return None
