"""Logs of scheduled nights: kept below a megabyte each, one older one beside it; and what a job said last.

The scheduler's shell has the log open for appending while the night runs, so a full one is copied aside and emptied,
never renamed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import as_number, as_object, as_text, parse_json
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.private import FILE, write_text

MOST_BYTES = 1_000_000
LAST_JOB = "last_job.json"


def rotate(log: Path) -> None:
    """Copy a full log to `<name>.1` and empty it."""
    if log.is_file() and not log.is_symlink() and log.stat().st_size > MOST_BYTES:
        aside = log.with_name(f"{log.name}.1")
        shutil.copyfile(log, aside)
        aside.chmod(FILE)
        with log.open("r+b") as stream:
            stream.truncate(0)


def clear_logs(directory: Path, *, before: float) -> int:
    """Remove logs that nothing was written to since `before`; how many."""
    old = [p for p in directory.glob("*.log*") if p.is_file() and p.stat().st_mtime < before]
    for path in old:
        path.unlink()
    return len(old)


@dataclass(frozen=True)
class LastJob:
    """Why the last scheduled night was not held."""

    at: float
    message: str


def put_last_job(paths: StatePaths, job: LastJob | None) -> None:
    """Remember it, or that the last one was held (None)."""
    path = paths.home / LAST_JOB
    if job is not None:
        write_text(path, json.dumps({"at": job.at, "message": job.message}) + "\n")
    elif path.is_file():
        path.unlink()


def last_job(paths: StatePaths) -> LastJob | None:
    """What is remembered; None where the last one was held, or nothing can be read."""
    try:
        value = as_object(parse_json((paths.home / LAST_JOB).read_bytes()))
    except (OSError, ValueError):
        return None
    return LastJob(as_number(value.get("at")) or 0.0, as_text(value.get("message")))
