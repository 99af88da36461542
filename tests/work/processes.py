"""Whether processes live, for tests that must leave none."""

from __future__ import annotations

import time
from pathlib import Path


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pids: list[int], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while any(map(lives, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def told(path: Path, seconds: float = 60.0) -> int:
    """The number that a process writes into a file."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"nothing was written to {path}")
