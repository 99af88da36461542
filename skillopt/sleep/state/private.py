"""Files only their owner may read: directories 0700, files 0600, whatever the user's umask.

`private_umask` holds for the whole process and is entered once, by the command line; it hands over the user's own
umask, which decides the mode of a new live file. The writers here set the mode themselves as well, so that a caller
without the command line (a test, a server) leaves nothing open either.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from skillopt.core.errors import SkillOptError
from skillopt.sleep.errors import StateError
from skillopt.store import atomic

DIRECTORY, FILE = 0o700, 0o600


@contextlib.contextmanager
def private_umask() -> Generator[int]:
    """umask 077 inside; the value is the umask from before."""
    before = os.umask(0o077)
    try:
        yield before
    finally:
        os.umask(before)


def make_directory(path: Path) -> Path:
    """`path` as a directory of mode 0700, with every missing one above it. What exists keeps its mode."""
    try:
        missing = [path, *path.parents]
        for directory in reversed([d for d in missing if not d.exists()]):
            directory.mkdir(mode=DIRECTORY, exist_ok=True)
            directory.chmod(DIRECTORY)
    except OSError as fault:
        raise StateError(f"cannot make {path}: {fault.strerror or fault}", hint="choose another --state-dir") from fault
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` at `path`, whole or not at all, mode 0600."""
    make_directory(path.parent)
    before = os.umask(0o077)
    try:
        atomic.write_bytes(path, data)
        path.chmod(FILE)
    except SkillOptError as fault:
        raise StateError(fault.message, hint=fault.hint) from fault
    except OSError as fault:
        raise StateError(f"cannot write {path}: {fault.strerror or fault}") from fault
    finally:
        os.umask(before)


def make_file(path: Path) -> None:
    """An empty file of mode 0600 at `path`; what exists stays as it is."""
    make_directory(path.parent)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))
    except OSError as fault:
        raise StateError(f"cannot write {path}: {fault.strerror or fault}") from fault


def write_text(path: Path, text: str) -> None:
    """Put `text` at `path` as UTF-8, line ends as they are."""
    write_bytes(path, text.encode("utf-8", "surrogatepass"))
