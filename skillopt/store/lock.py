"""One writer per run directory.

An operating-system lock on `run.lock`: the kernel frees it when the process dies, however it dies, so there is no stale
lock to clear. The file holds the pid of the last holder, for the message, and is never removed (removing it would let
two processes lock two files of one name). Readers need no lock and are never blocked.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType

from skillopt.core.errors import RunDirError
from skillopt.store.atomic import file_error

LOCK_NAME = "run.lock"

if sys.platform == "win32":
    import msvcrt

    # Far behind the content: a locked byte cannot be read by others on this platform.
    _LOCKED_BYTE = 1 << 30

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


_TRIES, _PAUSE_S = 3, 0.02
"""A reader that only looks whether somebody holds the lock (`is_locked`) has it for an instant."""


def _lock_soon(handle: int) -> bool:
    for _ in range(_TRIES):
        time.sleep(_PAUSE_S)
        if _try_lock(handle):
            return True
    return False


class RunLock:
    """The exclusive right to write in one run directory, from construction to `release` (or the end of `with`).

    Raises `RunDirError` when another holder exists, in this process or another, or the directory cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOCK_NAME
        try:
            directory.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as fault:
            raise file_error(self.path, fault) from fault
        try:
            if not _try_lock(handle) and not _lock_soon(handle):
                raise _held(directory, handle)
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, f"{os.getpid()}\n".encode())
        except OSError as fault:
            os.close(handle)
            raise file_error(self.path, fault) from fault
        except BaseException:
            os.close(handle)
            raise
        self._handle: int | None = handle

    def release(self) -> None:
        """Give the directory up. Idempotent."""
        handle, self._handle = self._handle, None
        if handle is not None:
            try:
                _unlock(handle)
            finally:
                os.close(handle)

    def __enter__(self) -> RunLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _held(directory: Path, handle: int) -> RunDirError:
    os.lseek(handle, 0, os.SEEK_SET)
    pid = os.read(handle, 32).decode("ascii", "replace").strip()
    if pid == str(os.getpid()):
        return RunDirError(
            f"{directory} is already being written by this process (pid {pid})", hint="one directory holds one run"
        )
    holder = f"process {pid}" if pid.isdigit() else "another process"
    return RunDirError(
        f"{directory} is being written by {holder}", hint="wait until it ends, stop it, or choose another out_root"
    )


def is_locked(directory: Path) -> bool:
    """Whether a process writes in a run directory now. The lock is taken for an instant to find out."""
    path = directory / LOCK_NAME
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        if not _try_lock(handle):
            return True
        _unlock(handle)
        return False
    except OSError:  # a file system without locks: nobody can hold one there
        return False
    finally:
        os.close(handle)
