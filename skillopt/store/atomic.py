"""Files that are whole or absent: a temporary file beside the target, fsync, `os.replace`, fsync of the directory.

A reader never sees half a file, whatever kills the writer. Equal bytes are not written again, so a resumed run costs
nothing here. Trade-off accepted: with `durable=False` the fsyncs are left out; the file still survives the death of the
process, but not always a power cut. Views that are rebuilt from the journal may use it.

A temporary file of a dead writer is removed by `clean_stale`. Errors of the file system become `RunDirError`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
from collections.abc import Generator
from pathlib import Path

from skillopt.core.errors import RunDirError

# Tells our temporary files from those of an earlier process that had the same pid (a restarted container).
_TOKEN = secrets.token_hex(4)
_TEMP = re.compile(r"\..+\.(\d+)-([0-9a-f]{8})\.tmp")
_O_BINARY: int = getattr(os, "O_BINARY", 0)


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> bool:
    """Put `data` at `path`, making parent directories; False when it was there already. Raises `RunDirError`."""
    try:
        return _put(os.fspath(path), data, durable=durable)
    except OSError as fault:
        raise file_error(path, fault) from fault


def _put(path: str, data: bytes, *, durable: bool) -> bool:
    """`write_bytes` on plain strings: a run writes thousands of small files."""
    if _same(path, data):
        return False
    directory, name = os.path.split(path)
    # The name is cut so that long targets stay below the file system's limit of 255 bytes.
    temp = os.path.join(directory, f".{name[:48]}.{os.getpid()}-{_TOKEN}.tmp")
    try:
        try:
            _write_whole(temp, data, durable=durable)
        except FileNotFoundError:
            os.makedirs(directory or ".", exist_ok=True)
            _write_whole(temp, data, durable=durable)
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        raise
    if durable:
        _sync_directory(directory or ".")
    return True


def write_text(path: Path, text: str, *, durable: bool = True) -> bool:
    """Put `text` at `path` as UTF-8, line ends as they are; lone surrogates are kept as the skill's hash sees them."""
    return write_bytes(path, text.encode("utf-8", "surrogatepass"), durable=durable)


def write_json(path: Path, value: object, *, durable: bool = True) -> bool:
    """Put `value` at `path`: two-space indent, keys in the order given, UTF-8, newline at the end.

    Raises `ValueError` for NaN and infinities, `TypeError` for what JSON cannot hold.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: escaped it is valid JSON in valid UTF-8
        data = (json.dumps(value, ensure_ascii=True, indent=2, allow_nan=False) + "\n").encode("ascii")
    return write_bytes(path, data, durable=durable)


def clean_stale(root: Path, *, sole_writer: bool = False) -> int:
    """Remove temporary files that dead writers left anywhere under `root`; returns how many.

    `sole_writer=True` (the caller holds the run lock) takes every temporary file that is not this process's own.
    """
    removed = 0
    with _typed_errors(root):
        for directory, _, names in os.walk(root):
            for name in names:
                match = _TEMP.fullmatch(name)
                if match and _is_stale(int(match[1]), match[2], sole_writer=sole_writer):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(directory, name))
                        removed += 1
    return removed


def _is_stale(pid: int, token: str, *, sole_writer: bool) -> bool:
    if pid == os.getpid():
        return token != _TOKEN
    return sole_writer or not _alive(pid)


def _alive(pid: int) -> bool:
    """Whether a process has this pid; True where the platform gives no harmless way to ask."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _same(path: str, data: bytes) -> bool:
    try:
        if os.stat(path).st_size != len(data):
            return False
        with open(path, "rb") as stream:
            return stream.read() == data
    except (FileNotFoundError, NotADirectoryError):
        return False


def _write_whole(temp: str, data: bytes, *, durable: bool) -> None:
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _O_BINARY, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_directory(directory: str) -> None:
    """Make a rename durable where the platform lets a directory be opened and synced."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _typed_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        raise file_error(path, fault) from fault


def file_error(path: Path, fault: OSError) -> RunDirError:
    """The typed error for a file system's refusal: what, where, what to do."""
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return RunDirError(
            f"cannot write {path}: the disk is full",
            hint="free some space and run the same command again; finished work is kept",
        )
    if fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return RunDirError(
            f"cannot write {path}: the directory is read-only for this user",
            hint="choose another out_root or change its permissions",
        )
    return RunDirError(
        f"cannot write {path}: {fault.strerror or fault}", hint="check that the path is an ordinary directory"
    )
