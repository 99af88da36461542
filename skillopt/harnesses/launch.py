"""One run of a program: started in a session of its own, bounded by its caller, and ended to the last process.

The prompt is a file that the program reads as its standard input; both output streams are files, so no pipe can fill or
block, and what a killed program wrote is kept. Whatever ends the wait (the program, a deadline, a cancellation), no
process of the run is left when `run` returns or raises. Raises `OSError` when the program cannot be started.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.harnesses import processes
from skillopt.harnesses.environment import MARKER

_GRACE_S = 2.0
_POLL_S = 0.05
_MOST_KILLS = 200
"""Rounds of killing, ten seconds: a process that outlives them hangs in the kernel, and we do not hang with it."""
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Launch:
    """A command line with all it needs. `files` are written and `folders` made before the start."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    stdin: str = ""
    files: Mapping[Path, str] = field(default_factory=dict[Path, str], repr=False)
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Finished:
    """What a program left. `exit_code` is negative for a signal. `seconds` is wall time."""

    exit_code: int
    stdout: str
    stderr: str
    seconds: float = 0.0


async def run(launch: Launch, logs: Path) -> Finished:
    """Run to the end; streams go to `logs`. Give it a deadline with `asyncio.wait_for`: a cancellation ends the run."""
    prepare(launch, logs)
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"  # whose run it is, for people who look at a process list
    began = time.monotonic()
    out, err = logs / "stdout.txt", logs / "stderr.txt"
    with (logs / "stdin.txt").open("rb") as stdin, out.open("wb") as stdout, err.open("wb") as stderr:
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *launch.argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=launch.cwd,
                env={**launch.env, MARKER: mark},
                start_new_session=True,
            )
        )
        try:
            process = await asyncio.shield(starting)
            code = await process.wait()
        finally:
            await _undisturbed(_end(starting, mark))
    return Finished(code, _read(out), _read(err), time.monotonic() - began)


def prepare(launch: Launch, logs: Path) -> None:
    """Write what the program finds: its standard input, its folders, its configuration files (readable by us only)."""
    for folder in (logs, *launch.folders):
        folder.mkdir(parents=True, exist_ok=True)
    (logs / "stdin.txt").write_bytes(launch.stdin.encode("utf-8", "replace"))
    for path, content in launch.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "replace"))
        path.chmod(0o600)


def _read(path: Path) -> str:
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(max(0, size - _MOST_BYTES))
        return stream.read().decode("utf-8", "replace")


async def _end(starting: asyncio.Future[asyncio.subprocess.Process], mark: str) -> None:
    """Ask politely while the program itself still runs, then kill until nobody is left."""
    try:
        process = await starting
    except OSError:
        return  # it never started
    if os.name != "posix":
        if process.returncode is None:
            processes.kill_tree_windows(process.pid)
            await process.wait()
        return
    if process.returncode is None:
        processes.send(processes.of_run(process.pid, mark), signal.SIGTERM)
        await _until_ended(process)
    for _ in range(_MOST_KILLS):
        left = processes.of_run(process.pid, mark)
        if not left:
            break
        processes.send(left, signal.SIGKILL)
        await asyncio.sleep(_POLL_S)
    await process.wait()


async def _until_ended(process: asyncio.subprocess.Process) -> None:
    for _ in range(round(_GRACE_S / _POLL_S)):
        if process.returncode is not None:
            return
        await asyncio.sleep(_POLL_S)


async def _undisturbed(work: Coroutine[Any, Any, None]) -> None:
    """Await to the end even while the caller is cancelled again; the cancellation is let through afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
