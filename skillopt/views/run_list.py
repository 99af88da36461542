"""The runs below a directory as a list: found by the files that a run writes, each with where it stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import SkillOptError
from skillopt.records.directory import JOURNAL, LOCK
from skillopt.records.live.control import read_pulse
from skillopt.records.live.following import EVENTS_FILE
from skillopt.records.reading import INITIAL_SKILL, open_run
from skillopt.store.lock import is_locked

DEPTH = 3
"""`<root>/<run>`, `<root>/<benchmark>/<run>`, and the runs of several seeds below these."""
_MARKS = (INITIAL_SKILL, EVENTS_FILE, JOURNAL, LOCK)
_SEVERAL = "seeds.json"
_MEASURED = ("eval_summary.json", "selftest.json")
"""What a finished measurement writes (`skillopt eval`, `compare`, `selftest`): no training, so no row of the list."""


@dataclass(frozen=True)
class RunRow:
    """A line of the list. `status` is that of a run, or `paused`, or `damaged` with the `problem`."""

    path: Path
    place: str
    status: str
    steps: int = 0
    best: float | None = None
    verdict: str = ""
    changed: float = 0.0
    pid: int = 0
    problem: str = ""

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.path.name


def find_runs(root: Path) -> Iterator[Path]:
    """Run directories below a root, by name; links that lead out of it are not followed."""
    real = root.resolve()
    seen: set[Path] = set()
    for path in _below(root, DEPTH):
        at = path.resolve()
        if at not in seen and at.is_relative_to(real):
            seen.add(at)
            yield path


def run_rows(root: Path) -> list[RunRow]:
    """A row a run, the one that changed last first. Finished measurements are none; one that goes on is shown."""
    rows = (run_row(path, root) for path in find_runs(root) if is_locked(path) or not _is_measurement(path))
    return sorted(rows, key=lambda row: (-row.changed, row.place))


def run_row(path: Path, root: Path) -> RunRow:
    """Where one run stands."""
    place = path.relative_to(root).as_posix()
    changed = _changed(path)
    locked = is_locked(path)
    pulse = read_pulse(path) if locked else None
    word = "running" if locked else "unfinished"
    pid = pulse.pid if pulse is not None else 0
    if pulse is not None and pulse.paused:
        word = "paused"
    if not os.path.isfile(path / INITIAL_SKILL):  # one that may not be looked into is no fault
        return RunRow(path, place, word, changed=changed, pid=pid)
    try:
        run = open_run(path)
        summary, state = run.summary, run.state
    except SkillOptError as error:
        return RunRow(path, place, "damaged", changed=changed, problem=str(error))
    if not locked and summary is not None:
        word = "stopped" if summary.stopped else "finished"
    verdict = summary.verdict if summary is not None and not locked else ""
    return RunRow(path, place, word, state.last_completed_step, state.best_score, verdict, changed, pid)


def _is_measurement(path: Path) -> bool:
    return not (path / INITIAL_SKILL).is_file() and any((path / name).is_file() for name in _MEASURED)


def _changed(path: Path) -> float:
    for name in (EVENTS_FILE, "runtime_state.json", "."):
        try:
            return (path / name).stat().st_mtime
        except OSError:  # not written yet
            continue
    return 0.0


def _below(directory: Path, depth: int) -> Iterator[Path]:
    """What lies inside of a run is its own, unless it is the parent of several."""
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
        if any(os.path.exists(path / mark) for mark in _MARKS) and not os.path.exists(path / _SEVERAL):
            yield path
        else:
            yield from _below(path, depth - 1)
