"""The runs under the roots: found by the files that the trainer writes, named by an id that tells no path.

An id is looked up among what was found, so no address in the browser can name a place outside of the roots; links that
lead out of them are not followed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from skillopt.core.errors import RunDirError
from skillopt.records.reading import INITIAL_SKILL, Run, Status, open_run
from skillopt.store.lock import is_locked
from skillopt.views.run_list import RunRow, find_runs, run_rows


@dataclass(frozen=True)
class RunPage:
    """One run as a page gets it. `run` is opened for this request; None while the directory holds no skill yet."""

    id: str
    path: Path
    run: Run | None

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.path.name

    @property
    def status(self) -> Status:
        """Whether somebody writes there now, and otherwise how far the run came."""
        if self.run is not None:
            return self.run.status
        return "running" if is_locked(self.path) else "unfinished"


class Runs:
    """See the module."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        self._known: dict[str, Path] = {}

    def rows(self) -> list[tuple[str, RunRow]]:
        """All runs with their ids, the one that changed last first. Blocking."""
        rows = {id_of(row.path): row for root in self.roots for row in run_rows(root)}  # roots may lie in each other
        return sorted(rows.items(), key=lambda each: -each[1].changed)

    def open(self, run_id: str) -> RunPage:
        """The run of an id, read now. Raises `RunDirError` when no root holds it. Blocking."""
        path = self.find(run_id)
        return RunPage(run_id, path, open_run(path) if os.path.isfile(path / INITIAL_SKILL) else None)

    def within(self, path: Path) -> bool:
        """Whether a path lies in a root, links followed."""
        real = path.resolve()
        return any(real.is_relative_to(root) for root in self.roots)

    def find(self, run_id: str) -> Path:
        """The directory of an id. Raises `RunDirError` when no root holds it. Blocking."""
        path = self._known.get(run_id)
        if path is None or not path.is_dir() or id_of(path) != run_id:  # gone, or a link to somewhere else by now
            self._known = {id_of(p): p for root in self.roots for p in find_runs(root)}
            path = self._known.get(run_id)
        if path is None:
            raise RunDirError("there is no such run here", hint="it may have been moved; the list shows what there is")
        return path


def id_of(path: Path) -> str:
    """The id of a run directory: readable, and the same in every server."""
    real = path.resolve()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", real.name).strip("-")[:40] or "run"
    return f"{name}-{sha256(os.fsencode(real)).hexdigest()[:10]}"
