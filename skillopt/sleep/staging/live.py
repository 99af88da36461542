"""One live file changed, whole or not at all, with a receipt on either side.

Backup, receipt `applying`, temporary file with the live file's mode, fsync, a last look at the live bytes, rename,
receipt `done`. A kill at any point leaves the old bytes or the new ones; `settle` then says which, removes what is left
over, and never touches a file that is neither.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.sleep.errors import StagingError
from skillopt.sleep.staging.manifest import ABSENT, read_bytes, sha256
from skillopt.sleep.staging.receipts import Receipt, read_receipts, write_receipts
from skillopt.sleep.state import private


@dataclass(frozen=True)
class Change:
    """New bytes for a live file (None removes it), and what the live bytes were when they were decided on."""

    receipt: Receipt
    before: bytes | None
    after: bytes | None


def apply(directory: Path, changes: Sequence[Change], *, users_umask: int) -> list[Receipt]:
    """Make the changes, one file after the other. Raises `StagingError` where a live file moved meanwhile."""
    done: list[Receipt] = []
    for number, change in enumerate(changes):
        receipts = read_receipts(directory)
        backup = ""
        if change.before is not None:
            backup = f"{len(receipts)}-{number}-{Path(change.receipt.live_path).name}"
            private.write_bytes(directory / "backup" / backup, change.before)
        entry = replace(
            change.receipt,
            state="applying",
            backup=backup,
            sha256_before=sha256(change.before),
            sha256_after=sha256(change.after),
        )
        write_receipts(directory, [*receipts, entry])
        try:
            _put(directory, entry, change, users_umask)
        except OSError as fault:
            write_receipts(directory, receipts)
            raise StagingError(f"cannot write {entry.live_path}: {fault.strerror or fault}") from fault
        entry = replace(entry, state="done")
        write_receipts(directory, [*receipts, entry])
        done.append(entry)
    return done


def settle(directory: Path) -> list[str]:
    """Finish what a crash interrupted; a line for everything found. Empty when nothing was."""
    receipts = read_receipts(directory)
    said: list[str] = []
    settled: list[Receipt] = []
    for entry in receipts:
        if entry.state != "applying":
            settled.append(entry)
            continue
        with contextlib.suppress(FileNotFoundError):
            _temporary(directory, entry).unlink()
        now = sha256(read_bytes(Path(entry.live_realpath)))
        if now == entry.sha256_after:
            settled.append(replace(entry, state="done"))
            said.append(f"{entry.live_path}: was {entry.act} before the interruption; its receipt is complete now")
        elif now == entry.sha256_before:
            said.append(f"{entry.live_path}: the interruption came before it was changed; nothing was done to it")
        else:
            settled.append(replace(entry, state="lost"))
            said.append(f"{entry.live_path}: changed by somebody else meanwhile; left alone (before: {entry.backup})")
    if said:
        write_receipts(directory, settled)
    return said


def _temporary(directory: Path, entry: Receipt) -> Path:
    real = Path(entry.live_realpath)
    return real.with_name(f".{real.name[:60]}.{directory.name}.skillopt-tmp")


def _put(directory: Path, entry: Receipt, change: Change, users_umask: int) -> None:
    real = Path(entry.live_realpath)
    temporary = _temporary(directory, entry)
    if change.after is not None:
        _make_parents(real.parent, users_umask)
        mode = stat.S_IMODE(real.stat().st_mode) if change.before is not None else 0o666 & ~users_umask
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(change.after)
                stream.flush()
                os.fsync(handle)
            temporary.chmod(mode)
        except OSError:
            temporary.unlink()
            raise
    if sha256(read_bytes(real)) != entry.sha256_before:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise OSError(0, "it was changed at this very moment; nothing was done to it, run the command again")
    if change.after is None:
        if entry.sha256_before != ABSENT:
            real.unlink()
    else:
        os.replace(temporary, real)
    _sync(real.parent)


def _make_parents(directory: Path, users_umask: int) -> None:
    for missing in reversed([d for d in (directory, *directory.parents) if not d.exists()]):
        missing.mkdir(exist_ok=True)
        missing.chmod(0o777 & ~users_umask)


def _sync(directory: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
