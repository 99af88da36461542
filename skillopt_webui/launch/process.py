"""A training process of its own group: started, found again after the server was restarted, ended.

The process holds a lock on a file that it inherits, so that whether it lives can be told by anybody, whoever started it
and whatever has become of its number. Nothing of it belongs to the server: it has its own session, reads nothing from
it and writes into a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def start(command: Sequence[str], *, log: Path, lock: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own, its output in `log`. Raises `OSError`; `BlockingIOError` when one
    with this lock lives."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _lock(handle):
            raise BlockingIOError(f"{lock} is held")
        with log.open("ab") as output:
            return subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=dict(environ),
                start_new_session=True, pass_fds=(handle,) if sys.platform != "win32" else (),
            )  # fmt: skip
    finally:
        os.close(handle)


def lives(lock: Path, pid: int) -> bool:
    """Whether the process that was started with this lock still runs."""
    if sys.platform == "win32":
        return _exists(pid)
    try:
        handle = os.open(lock, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def end(pid: int) -> None:
    """SIGTERM to the whole group: it closes its journal and goes. No waiting."""
    try:
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGTERM)
    except ProcessLookupError:  # gone already
        return


@contextlib.contextmanager
def turn(lock: Path) -> Generator[None]:
    """The block for one thread of one process at a time; others wait. Where the platform has no such locks, it is for
    everybody."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
