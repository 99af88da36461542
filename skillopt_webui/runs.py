"""The runs under the roots: found by the files that the trainer writes, named by an id that tells no path.

An id is looked up among what was found, so no address in the browser can name a place outside of the roots; links that
lead out of them are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from skillopt.core.errors import RunDirError, SkillOptError
from skillopt.records.directory import JOURNAL, LOCK
from skillopt.records.reading import INITIAL_SKILL, Run, Status, open_run
from skillopt.store.lock import is_locked

DEPTH = 3
"""`<root>/<run>`, `<root>/<benchmark>/<run>`, and the runs of several seeds below these."""
_MARKS = (INITIAL_SKILL, "logs/events.jsonl", JOURNAL, LOCK)


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


@dataclass(frozen=True)
class RunRow:
    """A line of the list. `problem` says why a run's records cannot be read."""

    id: str
    name: str
    place: str
    status: str
    steps: int
    best: float | None
    verdict: str
    changed: float
    problem: str = ""


class Runs:
    """See the module."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self.roots = tuple(root.resolve() for root in roots)
        self._known: dict[str, Path] = {}

    def rows(self) -> list[RunRow]:
        """All runs, the one that changed last first. Blocking."""
        found = [_row(id_of(path), path, root) for root, path in self._found()]
        return sorted(found, key=lambda row: -row.changed)

    def open(self, run_id: str) -> RunPage:
        """The run of an id, read now. Raises `RunDirError` when no root holds it. Blocking."""
        path = self._known.get(run_id)
        if path is None or not path.is_dir():
            self._known = {id_of(p): p for _, p in self._found()}
            path = self._known.get(run_id)
        if path is None:
            raise RunDirError("there is no such run here", hint="it may have been moved; the list shows what there is")
        return RunPage(run_id, path, open_run(path) if (path / INITIAL_SKILL).is_file() else None)

    def within(self, path: Path) -> bool:
        """Whether a path lies in a root, links followed."""
        real = path.resolve()
        return any(real.is_relative_to(root) for root in self.roots)

    def _found(self) -> Iterator[tuple[Path, Path]]:
        seen: set[Path] = set()
        for root in self.roots:
            for path in _below(root, DEPTH):
                real = path.resolve()
                if real not in seen and self.within(real):
                    seen.add(real)
                    yield root, path


def id_of(path: Path) -> str:
    """The id of a run directory: readable, and the same in every server."""
    real = path.resolve()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", real.name).strip("-")[:40] or "run"
    return f"{name}-{sha256(os.fsencode(real)).hexdigest()[:10]}"


def _below(directory: Path, depth: int) -> Iterator[Path]:
    """Run directories in a directory; what lies inside of a run is its own, unless it is the parent of several."""
    if not depth:
        return
    try:
        entries = sorted((e for e in os.scandir(directory) if e.is_dir()), key=lambda e: e.name)
    except OSError:  # a root that is not there yet, or may not be read, holds no runs
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if any((path / mark).exists() for mark in _MARKS) and not (path / "seeds.json").exists():
            yield path
        else:
            yield from _below(path, depth - 1)


def _row(run_id: str, path: Path, root: Path) -> RunRow:
    place = path.relative_to(root).as_posix()
    changed = max((p.stat().st_mtime for m in ("logs/events.jsonl", "runtime_state.json") if (p := path / m).exists()),
                  default=path.stat().st_mtime)  # fmt: skip
    if not (path / INITIAL_SKILL).is_file():
        status = "running" if is_locked(path) else "unfinished"
        return RunRow(run_id, path.name, place, status, 0, None, "", changed)
    try:
        run = open_run(path)
        summary, state = run.summary, run.state
        verdict = summary.verdict if summary is not None else ""
        return RunRow(
            run_id, path.name, place, run.status, state.last_completed_step, state.best_score, verdict, changed
        )
    except SkillOptError as error:
        return RunRow(run_id, path.name, place, "damaged", 0, None, "", changed, str(error))
