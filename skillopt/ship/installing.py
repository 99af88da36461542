"""Installing a package and taking it back, file by file, so that a kill between any two operations loses nothing.

First every file that will be replaced is copied, then the receipt is written, then files are replaced one at a time,
each whole or untouched, SKILL.md after what it refers to. What an earlier export put there and this one no longer has
is removed; files of other origin stay. A receipt that says `started` or `undoing` belongs to a process that died: the
next export or undo of the place first puts back what stood before. A file that somebody has changed since is never
overwritten by that: it is named, and nothing is done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from skillopt.agents.skill_files import File
from skillopt.core.errors import DataError
from skillopt.ship.places import Place
from skillopt.ship.receipts import Entry, Phase, Receipt, Receipts
from skillopt.store.atomic import clean_stale, file_error, write_bytes
from skillopt.store.lock import RunLock


def install(
    place: Place, package: str, files: Mapping[str, File], *, source: str = "", skill_hash: str = ""
) -> Receipt:
    """Put files (paths relative to the place's root) there. `package` is what they belong to. Raises `DataError` for
    what may not be replaced, `RunDirError` for a file system's refusal."""
    receipts = Receipts(place.state)
    with RunLock(place.state):
        _recover(place, receipts)
        if (place.root / package).is_dir():
            clean_stale(place.root / package)
        stale = _stale(place, receipts.of(package), files)
        receipt_id = receipts.new_id()
        entries = [
            _backed_up(place.root, receipts.folder(receipt_id), n, path, files.get(path))
            for n, path in enumerate([*files, *stale], start=1)
        ]
        receipt = Receipt(
            id=receipt_id, package=package, time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            phase="started", entries=tuple(entries), made=_missing_directories(place.root, files), source=source,
            skill_hash=skill_hash,
        )  # fmt: skip
        receipts.write(receipt)
        for path, file in files.items():
            _put(place.root / path, file.content, 0o755 if file.executable else 0o644)
        for path in stale:
            _remove(place.root / path)
        return _phase(receipts, receipt, "installed")


def undo(place: Place, package: str = "") -> Receipt:
    """Take the last export back (of `package`, blank: of any). Raises `DataError` when there is none, or when a file
    was changed since."""
    receipts = Receipts(place.state)
    if not place.state.is_dir():
        raise DataError(f"nothing was exported to {place.label}", hint="name the place that it was exported to")
    with RunLock(place.state):
        interrupted = _recover(place, receipts)
        if interrupted is not None and package in ("", interrupted.package):
            return interrupted
        done = [r for r in receipts.all() if r.phase == "installed" and package in ("", r.package)]
        if not done:
            what = f"no export of {package} to" if package else "no export to"
            raise DataError(f"there is {what} {place.label} that could be undone")
        return _revert(place, receipts, done[-1])


def _recover(place: Place, receipts: Receipts) -> Receipt | None:
    """Put back what stood there before a killed process began. Returns the export that it was busy with."""
    found = None
    for receipt in receipts.all():
        if receipt.phase in ("started", "undoing"):
            found = _revert(place, receipts, receipt)
    return found


def _revert(place: Place, receipts: Receipts, receipt: Receipt) -> Receipt:
    changed = [e.path for e in receipt.entries if _now(place.root / e.path) not in (_before(e), (e.after, ""))]
    if changed:
        raise DataError(
            f"{place.root / changed[0]} was changed after the export, so it is not taken back",
            hint=f"copy it elsewhere and put the file of the export there again; the backups are in "
            f"{receipts.folder(receipt.id)}",
        )
    if (place.root / receipt.package).is_dir():
        clean_stale(place.root / receipt.package)
    if receipt.phase != "started":
        receipt = _phase(receipts, receipt, "undoing")
    for entry in receipt.entries:
        path = place.root / entry.path
        if _now(path) == _before(entry) and (entry.link or not entry.before or _mode(path) == entry.mode):
            continue
        if entry.link:
            _put_link(path, entry.link)
        elif entry.before:
            _put(path, _read(receipts.folder(receipt.id) / entry.backup), entry.mode)
        else:
            _remove(path)
    for made in reversed(receipt.made):
        with contextlib.suppress(OSError):  # somebody has put more into it
            (place.root / made).rmdir()
    return _phase(receipts, receipt, "undone")


def _stale(place: Place, earlier: tuple[Receipt, ...], files: Mapping[str, File]) -> list[str]:
    """What the last export of the package put there, unchanged, and this one does not have."""
    installed = [r for r in earlier if r.phase == "installed"]
    if not installed:
        return []
    return [
        e.path for e in installed[-1].entries
        if e.path not in files and e.after and _now(place.root / e.path) == (e.after, "")
    ]  # fmt: skip


def _backed_up(root: Path, folder: Path, number: int, path: str, file: File | None) -> Entry:
    """Copy what stands at a path and say what will stand there. Raises `DataError` for what no export may replace."""
    target = root / path
    for parent in [*target.parents][: len(Path(path).parts) - 1]:
        if parent.is_symlink() and parent != root:
            raise DataError(
                f"{parent} is a symbolic link to {os.readlink(parent)}",
                hint="export to where it leads: --to DIR",
            )
        if parent.exists() and not parent.is_dir():
            raise DataError(f"{parent} is a file, and a directory is needed there", hint="move it away")
    if target.is_dir() and not target.is_symlink():
        raise DataError(f"{target} is a directory, and a file is needed there", hint="move it away")
    before, link = _now(target)
    backup = ""
    if before:
        backup = f"{number:04d}"
        write_bytes(folder / backup, _read(target))
    mode = _mode(target) if before else 0o644
    return Entry(path, before, _digest(file.content) if file is not None else "", backup, link, mode)


def _missing_directories(root: Path, files: Mapping[str, File]) -> tuple[str, ...]:
    """Directories below `root` that will be made, outermost first."""
    wanted = {parent.as_posix() for path in files for parent in Path(path).parents if parent != Path(".")}
    return tuple(sorted((d for d in wanted if not (root / d).is_dir()), key=lambda d: d.count("/")))


def _phase(receipts: Receipts, receipt: Receipt, phase: Phase) -> Receipt:
    changed = dataclasses.replace(receipt, phase=phase)
    receipts.write(changed)
    return changed


def _before(entry: Entry) -> tuple[str, str]:
    return entry.before, entry.link


def _now(path: Path) -> tuple[str, str]:
    """Digest and link goal of what stands at a path; two blanks where nothing does."""
    if path.is_symlink():
        return "", os.readlink(path)
    return (_digest(_read(path)) if path.exists() else ""), ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise DataError(f"{path}: {fault.strerror}", hint="check its permissions") from fault


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _put(path: Path, content: bytes, mode: int) -> None:
    """A whole file with its mode. A link at the path is replaced, unless it leads to these very bytes."""
    write_bytes(path, content)
    try:
        if not path.is_symlink() and _mode(path) != mode:
            path.chmod(mode)
    except OSError as fault:
        raise file_error(path, fault) from fault


def _put_link(path: Path, goal: str) -> None:
    temp = path.with_name(f".{path.name[:48]}.link")
    try:
        temp.unlink(missing_ok=True)
        os.symlink(goal, temp)
        os.replace(temp, path)
    except OSError as fault:
        raise file_error(path, fault) from fault


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as fault:
        raise file_error(path, fault) from fault


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
