"""What the views of one server remember between requests: files that were read, lineages that were replayed.

Both are caches of what stands on disk, keyed by its state, and may be emptied at any time. Used from worker threads.
"""

from __future__ import annotations

import subprocess
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from starlette.requests import Request

from skillopt.records.beside.review import MEASURED
from skillopt.records.reading import Run
from skillopt.store.lock import is_locked
from skillopt.views.answers.grid import Grid, Window, grid
from skillopt.views.answers.scores import Scores
from skillopt.views.growth import BlamedText, blamed
from skillopt.views.measurements import Split

_TEXTS = 32


@dataclass
class Shelf:
    """One per server."""

    _scores: Scores = field(default_factory=Scores)
    _texts: OrderedDict[tuple[str, str, int], BlamedText] = field(
        default_factory=OrderedDict[tuple[str, str, int], BlamedText]
    )
    _measuring: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict[str, "subprocess.Popen[bytes]"])
    """Processes that measure a review, by the run's directory; they outlive the server."""
    _lock: Lock = field(default_factory=Lock)

    def grid(self, run: Run, split: Split, window: Window, only: str) -> Grid:
        """A page of the matrix."""
        with self._lock:
            return grid(run, self._scores, split, window, only=only)

    def measures(self, run: Run) -> bool:
        """Whether a process that this server started still measures the run's review."""
        process = self._measuring.get(str(run.root))
        return process is not None and process.poll() is None

    def measure(self, run: Run, start: Callable[[Path], subprocess.Popen[bytes]]) -> None:
        """Start a process that measures the run's review, unless one does. Blocking."""
        with self._lock:
            if not self.measures(run) and not is_locked(run.root / MEASURED):
                self._measuring[str(run.root)] = start(run.root)

    def blamed(self, run: Run, key: str) -> BlamedText:
        """A version with blame; replaying a long run takes a moment, and its past does not change."""
        history = run.root / "history.json"
        state = history.stat().st_mtime_ns if history.is_file() else 0
        name = (str(run.root), key, state)
        with self._lock:
            found = self._texts.get(name)
        if found is None:
            found = blamed(run, key)
            with self._lock:
                self._texts[name] = found
                while len(self._texts) > _TEXTS:
                    self._texts.popitem(last=False)
        return found


def shelf_of(request: Request) -> Shelf:
    """The server's shelf; made when it is first asked for."""
    state = request.app.state
    if not hasattr(state, "shelf"):
        state.shelf = Shelf()
    shelf: Shelf = state.shelf
    return shelf
