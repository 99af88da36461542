"""Ending everything a program started: its process group, its descendants, and what left both.

Agents start shells in sessions of their own, and launchers leave their native child behind when they are killed. So the
processes of a run are found three ways: by group, by parentage, and by a variable in their environment that they
inherited (where the system shows environments: Linux). Without such a system the first two remain.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillopt.harnesses.environment import MARKER

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One living process."""

    pid: int
    parent: int
    group: int


def alive() -> list[Process]:
    """Every process that is not a zombie; empty where the system gives no list."""
    if (_PROC / "self" / "stat").exists():
        return [found for entry in os.listdir(_PROC) if entry.isdigit() and (found := _from_stat(entry)) is not None]
    if os.name != "posix":
        return []
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return [Process(int(r[0]), int(r[1]), int(r[2])) for r in rows if len(r) >= 4 and not r[3].startswith("Z")]


def _from_stat(pid: str) -> Process | None:
    try:
        content = (_PROC / pid / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, parent, group = content.rpartition(")")[2].split()[:3]
    return None if state in "ZX" else Process(int(pid), int(parent), int(group))


def of_run(root: int, mark: str) -> set[int]:
    """The living processes of the run that `root` (leader of its own group) began; never the caller itself."""
    everyone = alive()
    found = {p.pid for p in everyone if p.group == root or p.pid == root or (mark and _is_marked(p.pid, mark))}
    grown = True
    while grown:
        more = {p.pid for p in everyone if p.parent in found} - found
        found |= more
        grown = bool(more)
    return found - {os.getpid()}


def _is_marked(pid: int, mark: str) -> bool:
    try:
        content = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARKER}={mark}".encode() in content.split(b"\0")


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes; those that have ended meanwhile are no fault."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_tree_windows(root: int) -> None:
    """End a process and its descendants where there are no groups."""
    subprocess.run(["taskkill", "/T", "/F", "/PID", str(root)], capture_output=True, check=False)
