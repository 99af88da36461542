"""Model files on this machine: where they lie, and whether they are what they claim to be.

A file counts as a catalogue model when its size and SHA-256 match. Hashing a gigabyte at every start is wasteful, so a
full hash leaves a marker (size, modification time, hash) in the cache; later checks compare the marker with the file's
stat. A changed file misses its marker and is hashed again. Nothing here touches the network.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import platformdirs

from skillopt.core.errors import FatalModelError
from skillopt.core.json_types import JsonValue
from skillopt.model.local.catalogue import ModelEntry

FILE_VARIABLE = "SKILLOPT_MODEL_FILE"
"""Environment variable that names a model file the user already has."""

_CHUNK = 4 << 20

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, bytes done, bytes in all)."""


@dataclass(frozen=True)
class ModelFile:
    """A verified file on disk. `sha256` identifies it wherever it lies."""

    name: str
    path: Path
    sha256: str
    size: int


def no_progress(_what: str, _done: int, _total: int) -> None:
    """A `Progress` that shows nothing."""


def cache_directory() -> Path:
    """The directory of fetched models in the user's cache (not created here)."""
    return Path(platformdirs.user_cache_dir("skillopt", appauthor=False)) / "models"


def make_directory(cache: Path) -> None:
    """Make the cache directory. Raises `FatalModelError` when it cannot be made."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FatalModelError(
            f"the cache directory {cache} cannot be made: {error.strerror}", hint="set XDG_CACHE_HOME to a writable one"
        ) from error


def sha256_of(path: Path, progress: Progress = no_progress) -> str:
    """Hex SHA-256 of a file's bytes."""
    total, done, digest = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress("verify", done, total)
    return digest.hexdigest()


def identify(path: Path, cache: Path, *, rehash: bool = False, progress: Progress = no_progress) -> str:
    """SHA-256 of the file at `path`, taken from its marker when the file has not changed since it was hashed.

    `rehash` ignores the marker. Raises `FatalModelError` when the file cannot be read.
    """
    try:
        stat = path.stat()
        seen = None if rehash else _read_marker(_marker_path(path, cache))
        if seen is not None and (seen.get("size"), seen.get("mtime_ns")) == (stat.st_size, stat.st_mtime_ns):
            return str(seen["sha256"])
        digest = sha256_of(path, progress)
    except OSError as error:
        raise FatalModelError(f"model file {path} cannot be read: {error.strerror}") from error
    write_marker(path, cache, digest)
    return digest


def write_marker(path: Path, cache: Path, digest: str) -> None:
    """Remember that `path`, as it is now, has this hash. A read-only cache only costs the next start a hash."""
    stat = path.stat()
    marker = _marker_path(path, cache)
    body = {"path": str(path.resolve()), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": digest}
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        temporary = marker.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(body), "utf-8")
        os.replace(temporary, marker)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EPERM):
            raise


def find_present(
    entry: ModelEntry, cache: Path, *, verify: bool = False, progress: Progress = no_progress
) -> ModelFile | None:
    """The entry's file if the user has it: the one named by SKILLOPT_MODEL_FILE, else the cached one, else None.

    A named file with other bytes is an error, never passed over in silence; a damaged cached file is passed over (it
    is fetched anew). `verify` hashes in full. Raises `FatalModelError`.
    """
    named = os.environ.get(FILE_VARIABLE, "")
    if named:
        return check_file(entry, Path(named), cache, origin=FILE_VARIABLE, verify=verify, progress=progress)
    path = cache / entry.file
    if not path.is_file() or path.stat().st_size != entry.size:
        return None
    if identify(path, cache, rehash=verify, progress=progress) != entry.sha256:
        return None
    return ModelFile(entry.name, path, entry.sha256, entry.size)


def check_file(
    entry: ModelEntry, path: Path, cache: Path, *, origin: str, verify: bool = False, progress: Progress = no_progress
) -> ModelFile:
    """`path` as the entry's file. `origin` names the setting that led here. Raises `FatalModelError` on other bytes."""
    path = path.expanduser()
    if not path.is_file():
        raise FatalModelError(f"{origin}: there is no file {path}", hint="correct the path or unset it")
    size = path.stat().st_size
    if size != entry.size:
        found = f"{size:,} bytes instead of {entry.size:,}"
    else:
        digest = identify(path, cache, rehash=verify, progress=progress)
        if digest == entry.sha256:
            return ModelFile(entry.name, path, entry.sha256, entry.size)
        found = f"SHA-256 {digest} instead of {entry.sha256}"
    raise FatalModelError(
        f"{origin}: {path} is not {entry.name}: {found}",
        hint="give the right file, or name this file itself as the model to run it as it is",
    )


def own_model(path: Path, cache: Path, *, progress: Progress = no_progress) -> ModelFile:
    """Any GGUF file as a model of its own, identified by its hash. Raises `FatalModelError` when it is not one."""
    path = path.expanduser()
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise FatalModelError(f"model file {path} cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise FatalModelError(f"model file {path} is not a GGUF file", hint="name a catalogue model or a .gguf file")
    return ModelFile(path.stem, path, identify(path, cache, progress=progress), path.stat().st_size)


def check_space(directory: Path, needed: int) -> None:
    """Refuse a download that cannot fit, before it starts. `needed` in bytes. Raises `FatalModelError`."""
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise FatalModelError(
            f"not enough disk space in {directory}: {needed / 1e9:.2f} GB needed, {free / 1e9:.2f} GB free",
            hint=f"free some space, or put the file elsewhere and set {FILE_VARIABLE}",
        )


def disk_full(directory: Path) -> FatalModelError:
    """The error for a disk that filled up during a download. What was fetched stays and is continued later."""
    return FatalModelError(
        f"the disk of {directory} is full; what was fetched is kept",
        hint="free some space and run the same command again",
    )


def _marker_path(path: Path, cache: Path) -> Path:
    key = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    return cache / "verified" / f"{key}.json"


def _read_marker(marker: Path) -> dict[str, JsonValue] | None:
    try:
        body: object = json.loads(marker.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, JsonValue]", body) if isinstance(body, dict) and "sha256" in body else None
