"""One worker process as its driver sees it: requests by number, answers, its last words, its end.

A number is used for one attempt only. An answer whose number nobody waits for any more (cancelled, timed out, given up
as lost) is refused, so a late result never takes the place of a repeated one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject
from skillopt.core.shorten import shorten_tail
from skillopt.harnesses.guarded import Guarded, start
from skillopt.work import frames
from skillopt.work.worker import BOOT

_TAIL_BYTES = 4000
_LAST_WORDS_S = 0.5
_START_S = 60.0
_ROOT = str(Path(__file__).resolve().parents[2])


class Lost(Exception):
    """The worker has ended with this request unanswered; the text says how."""


class Member:
    """A worker. Made by `open_member`; `end` leaves nothing of it, its programs included."""

    def __init__(self, program: Guarded, *, shared: bool) -> None:
        self.shared = shared
        self.refused = 0
        """Answers that came too late."""
        self._program = program
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._tail = bytearray()
        loop = asyncio.get_running_loop()
        self._ended = loop.create_task(self._read())
        self._words = loop.create_task(self._listen())

    @property
    def pid(self) -> int:
        """The worker's own process."""
        return self._program.pid

    @property
    def load(self) -> int:
        """Requests without an answer."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether it can be asked, as far as is known."""
        return not self._ended.done()

    async def ask(self, number: int, message: JsonObject) -> JsonObject:
        """Send a request and wait for its answer: `value`, `error` or `cancelled`. Raises `Lost`."""
        frame = frames.encode({**message, "n": number})
        if not self.alive:
            raise Lost(await self.how())
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send(frame)
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def cancel(self, number: int, seconds: float) -> bool:
        """Have a unit of a shared worker ended; whether it said so in time."""
        if not self.alive:
            return False
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send(frames.encode({"do": "cancel", "n": number}))
            await asyncio.wait_for(answer, seconds)
        except (asyncio.TimeoutError, Lost):
            return False
        finally:
            self._waiting.pop(number, None)
        return True

    async def end(self) -> None:
        """Kill it and wait until it and all it began are gone. Idempotent."""
        self._program.ask(now=True)
        await self._program.wait()
        await asyncio.wait([self._ended, self._words])
        stdin = self._program.process.stdin
        assert stdin is not None
        stdin.close()
        with contextlib.suppress(ConnectionError):
            await stdin.wait_closed()

    def _send(self, frame: bytes) -> None:
        stdin = self._program.process.stdin
        assert stdin is not None
        stdin.write(frame)  # a worker that reads nothing is ended by the deadline; then the buffer goes with it

    async def _read(self) -> None:
        stdout = self._program.process.stdout
        assert stdout is not None
        while (message := await self._message(stdout)) is not None:
            answer = self._waiting.get(cast("int", message["n"]))
            if answer is None or answer.done():
                self.refused += 1
            else:
                answer.set_result(message)
        # The end of the stream is the end of the worker; a unit is repeated only once nothing of it runs any more.
        self._program.ask(now=True)
        await self._program.process.wait()
        how = await self.how()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Lost(how))

    async def _message(self, stdout: asyncio.StreamReader) -> JsonObject | None:
        try:
            return await frames.receive(stdout)
        except ValueError:
            return None  # no stream of messages any more

    async def _listen(self) -> None:
        stderr = self._program.process.stderr
        assert stderr is not None
        while chunk := await stderr.read(65_536):
            self._tail += chunk
            del self._tail[:-_TAIL_BYTES]

    async def how(self) -> str:
        """How it ended, with the last line it wrote."""
        await asyncio.wait([self._words], timeout=_LAST_WORDS_S)
        code = self._program.process.returncode
        how = (
            "ended" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        )
        lines = bytes(self._tail).decode("utf-8", "replace").strip().splitlines()
        return f"{how}; its last words: {shorten_tail(lines[-1], 300)}" if lines else how


async def open_member(*, shared: bool, blobs: str) -> Member:
    """Start a worker. Raises `OSError` when no process can be started, `Lost` when it ends at once."""
    member, _ = await begun(BOOT, {"blobs": blobs, "shared": shared}, shared=shared, seconds=_START_S)
    return member


async def begun(boot: str, hello: JsonObject, *, shared: bool, seconds: float) -> tuple[Member, JsonObject]:
    """Start a process of this package that serves requests; it and its first answer. Raises `OSError`, `Lost`."""
    program = await start(
        (sys.executable, "-c", boot, _ROOT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdin, stdout = program.process.stdin, program.process.stdout
    assert stdin is not None and stdout is not None
    stdin.write(frames.encode({**hello, "path": [entry or os.getcwd() for entry in sys.path]}))
    try:
        ready = await asyncio.wait_for(frames.receive(stdout), seconds)
    except asyncio.TimeoutError:
        ready = None
    except BaseException:
        program.release()
        raise
    member = Member(program, shared=shared)
    if ready is None:
        await member.end()
        raise Lost(await member.how())
    return member, ready
