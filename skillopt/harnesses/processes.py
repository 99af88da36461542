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

from skillopt.harnesses.environment import MARKER

_PROC = "/proc"


@dataclass(frozen=True)
class Process:
    """One living process."""

    pid: int
    parent: int
    group: int


def alive() -> list[Process]:
    """Every process that is not a zombie; empty where the system gives no list."""
    if os.path.exists(f"{_PROC}/self/stat"):
        return [found for entry in os.listdir(_PROC) if entry.isdigit() and (found := _from_stat(entry)) is not None]
    if os.name != "posix":
        return []
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return [Process(int(r[0]), int(r[1]), int(r[2])) for r in rows if len(r) >= 4 and not r[3].startswith("Z")]


def _from_stat(pid: str) -> Process | None:
    content = _content(pid, "stat")
    if content is None:
        return None
    state, parent, group = content.rpartition(b")")[2].split(maxsplit=3)[:3]
    return None if state in b"ZX" else Process(int(pid), int(parent), int(group))


def _content(pid: int | str, name: str) -> bytes | None:
    """A file of a process; None where it has ended or is another user's. Hundreds are read each time a program ends."""
    try:
        with open(f"{_PROC}/{pid}/{name}", "rb", buffering=0) as stream:
            return stream.read()
    except OSError:
        return None


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
    wanted = f"{MARKER}={mark}".encode()
    content = _content(pid, "environ")
    return content is not None and wanted in content and wanted in content.split(b"\0")


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes; those that have ended meanwhile are no fault."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_tree_windows(root: int) -> None:
    """End a process and its descendants where there are no groups."""
    subprocess.run(["taskkill", "/T", "/F", "/PID", str(root)], capture_output=True, check=False)
