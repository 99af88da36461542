"""One run of a program: started in a session of its own, bounded by its caller, and ended to the last process.

The prompt is a file that the program reads as its standard input; both output streams are files, so no pipe can fill or
block, and what a killed program wrote is kept. Whatever ends the wait (the program, a deadline, a cancellation), no
process of the run is left when `run` returns or raises, and none outlives this process, however that ends (`guarded`).
Raises `OSError` when the program cannot be started.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from skillopt.core.aio import undisturbed
from skillopt.harnesses import processes
from skillopt.harnesses.environment import MARKER
from skillopt.harnesses.guarded import Guarded, start

_GRACE_S = 1.0
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


async def run(launch: Launch, logs: Path, *, guarded: bool = False) -> Finished:
    """Run to the end; streams go to `logs`. Give it a deadline with `asyncio.wait_for`: a cancellation ends the run.

    `guarded` says that this process is a worker whose whole tree is guarded already: no second guard is started.
    """
    prepare(launch, logs)
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"  # whose run it is, for people who look at a process list
    began = time.monotonic()
    out, err = logs / "stdout.txt", logs / "stderr.txt"
    with (logs / "stdin.txt").open("rb") as stdin, out.open("wb") as stdout, err.open("wb") as stderr:
        begin = _start_plainly if guarded else _start_guarded
        starting = asyncio.ensure_future(begin(launch, mark, stdin, stdout, stderr))
        try:
            program = await asyncio.shield(starting)
            code = await program.process.wait()
        finally:
            await undisturbed(_end(starting, mark))
    return Finished(code, _read(out), _read(err), time.monotonic() - began)


async def _start_guarded(launch: Launch, mark: str, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> Guarded:
    env = {**launch.env, MARKER: mark}
    return await start(launch.argv, env=env, cwd=launch.cwd, stdin=stdin, stdout=stdout, stderr=stderr)


async def _start_plainly(launch: Launch, mark: str, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> Guarded:
    process = await asyncio.create_subprocess_exec(
        *launch.argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=launch.cwd,
        env={**launch.env, MARKER: mark},
        start_new_session=True,
    )
    return Guarded(process, process.pid)


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


async def _end(starting: asyncio.Future[Guarded], mark: str) -> None:
    """Ask politely while the program itself still runs, then kill until nobody is left."""
    try:
        program = await starting
    except OSError:
        return  # it never started
    process = program.process
    if os.name != "posix":
        if process.returncode is None:
            processes.kill_tree_windows(process.pid)
            await process.wait()
        return
    if program.guarded:
        program.ask(now=False)
        await program.wait()  # what follows finds nobody, unless the guard itself was killed
    elif process.returncode is None:
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
