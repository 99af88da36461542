"""Programs that do not outlive us: started through the guard, which ends them with all their descendants.

`start` gives back a running program or raises what a direct start would raise (`OSError`, `ValueError`). However this
process ends, `kill -9` included, the program ends within about a second. Windows has no such guard: a program is
started directly there, and a killed parent leaves it running.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from skillopt.harnesses import guard

Stream: TypeAlias = int | IO[bytes] | None


@dataclass(frozen=True)
class Guarded:
    """A program on its way. `process` is its guard: same streams, same exit code; `pid` is the program itself."""

    process: asyncio.subprocess.Process
    pid: int
    _link: socket.socket | None = None

    @property
    def guarded(self) -> bool:
        """Whether there is a guard. Without one the streams and the process are the program's own."""
        return self._link is not None

    def ask(self, *, now: bool) -> None:
        """Have the whole tree ended: at once, or after SIGTERM and a second to stop by itself. Does not wait."""
        if self._link is None:
            if self.process.returncode is None:
                self.process.kill()
            return
        with contextlib.suppress(OSError):
            self._link.send(b"K" if now else b"T")

    async def wait(self) -> int:
        """The exit code, negative for a signal. Nothing of the program is left then."""
        code = await self.process.wait()
        self.release()
        return code

    def release(self) -> None:
        """Let go of the link; what still runs is ended by the guard."""
        if self._link is not None:
            self._link.close()


async def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
) -> Guarded:
    """Start a program. Raises `OSError` when it cannot be started, `ValueError` for a NUL in an argument."""
    if os.name != "posix" or not sys.executable:
        process = await asyncio.create_subprocess_exec(
            *argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr
        )
        return Guarded(process, process.pid)
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", guard.__file__, str(theirs.fileno())),
                *argv,
                env=env,
                cwd=cwd,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        ours.setblocking(False)
        word, _, number = (await asyncio.get_running_loop().sock_recv(ours, 64)).decode().partition(" ")
        if word == "ok":
            return Guarded(process, int(number), ours)
        await process.wait()
        fault = int(number or 0)
        raise OSError(fault, os.strerror(fault) if fault else "the guard process ended at once", argv[0])
    except BaseException:
        ours.close()
        raise
