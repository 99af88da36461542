"""Session files found and read: regular files only, no links, never past the size seen when they were opened.

A file that grows while it is read gives what was there; a last line without its newline is left for next time. A line
that is no JSON object, or longer than 32 MB, is skipped and counted.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from skillopt.core.json_types import JsonObject
from skillopt.sleep.sources.reading import Counts, SessionFile

MAX_LINE = 32 * 1024 * 1024
_O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_O_BINARY: int = getattr(os, "O_BINARY", 0)


def open_session(path: Path) -> BinaryIO:
    """The file opened for reading, the one place where that is done; a link in its place is an `OSError`."""
    return os.fdopen(os.open(path, os.O_RDONLY | _O_NOFOLLOW | _O_BINARY), "rb")


def found(source: str, path: Path) -> SessionFile | None:
    """`path` as a session file; None unless it is a regular file."""
    try:
        seen = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return SessionFile(source, path, seen.st_ino, seen.st_size, seen.st_mtime_ns)


def walk(root: Path, *, skip: frozenset[str] = frozenset(), depth: int = 6) -> Iterator[os.DirEntry[str]]:
    """Regular files below `root` in a fixed order, no links followed, directories named in `skip` left out."""
    try:
        with os.scandir(root) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth > 0 and entry.name not in skip:
                yield from walk(Path(entry.path), skip=skip, depth=depth - 1)
        elif entry.is_file(follow_symlinks=False):
            yield entry


def as_file(source: str, entry: os.DirEntry[str]) -> SessionFile | None:
    """A directory entry as a session file; None when it went away."""
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return SessionFile(source, Path(entry.path), seen.st_ino, seen.st_size, seen.st_mtime_ns)


def records(path: Path, counts: Counts) -> Iterator[JsonObject]:
    """The JSON objects of a file in order. Raises `OSError` where it cannot be opened."""
    with open_session(path) as stream:
        left = os.fstat(stream.fileno()).st_size
        while left > 0:
            line = stream.readline(min(left, MAX_LINE))
            if not line:
                return
            left -= len(line)
            if not line.endswith(b"\n"):
                if left <= 0:
                    counts.half_lines += 1
                    return
                left = _to_end_of_line(stream, left)
                counts.bad_lines += 1
                continue
            if not line.strip():
                continue
            record = _parsed(line)
            if record is None:
                counts.bad_lines += 1
            else:
                yield record


def _to_end_of_line(stream: BinaryIO, left: int) -> int:
    while left > 0:
        part = stream.readline(min(left, MAX_LINE))
        left -= len(part)
        if not part or part.endswith(b"\n"):
            break
    return left


def _parsed(line: bytes) -> JsonObject | None:
    try:
        value: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
