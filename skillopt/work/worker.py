"""The program of a worker: reads requests from its standard input, answers on its standard output, ends with its input.

A worker of its own (`exclusive`) does one thing at a time in its main thread, outside any event loop, so that a user's
function may do what it likes there; it is ended by being killed. What the work prints goes to standard error. Ctrl-C is
for the driver. This file imports only what every worker needs: starting one must stay cheap.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, BinaryIO, cast

from skillopt.core.json_types import JsonObject
from skillopt.work import frames
from skillopt.work.blobs import Blobs
from skillopt.work.handling import Stepper, Unit, checked_answer, failure_of, handler_of

if TYPE_CHECKING:
    import asyncio

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from skillopt.work.worker import main; main()"
"""What a fresh interpreter is given with `-c`; the argument is the directory that holds the package."""


def main() -> None:
    """Serve until the driver goes away."""
    requests, answers = own_streams()
    hello = frames.read(requests)
    if hello is None:
        return
    sys.path[:] = cast("list[str]", hello["path"])
    blobs = Blobs(str(hello["blobs"]))
    if hello["shared"]:
        from skillopt.work.shared_worker import serve
    else:
        serve = _serve
    answers.write(frames.encode({"ready": os.getpid()}))
    answers.flush()
    serve(requests, answers, blobs)


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes to the driver, out of reach of the work: its own input is empty, its output goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, answers


def _serve(requests: BinaryIO, answers: BinaryIO, blobs: Blobs) -> None:
    _Exclusive(answers, blobs).serve(requests)


class _Exclusive:
    """One request after the other."""

    def __init__(self, answers: BinaryIO, blobs: Blobs) -> None:
        self._answers, self._blobs = answers, blobs
        self._sessions: dict[int, Stepper] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve(self, requests: BinaryIO) -> None:
        while (message := frames.read(requests)) is not None:
            try:
                answer = frames.encode({"n": message["n"], "value": self._done(message)})
            except BaseException as error:  # noqa: BLE001
                # Work is the user's code and may raise anything: sys.exit(), or a test library's BaseException. It
                # goes to the driver with its traceback, which raises it there; a dead worker would be a lost one.
                answer = frames.encode({"n": message["n"], "error": failure_of(error)})
            self._answers.write(answer)
            self._answers.flush()

    def _done(self, message: JsonObject) -> JsonObject:
        target = str(message["target"])
        session = cast("int", message.get("session", 0))
        payload = cast("JsonObject", message["payload"])
        if message["do"] == "run":
            return checked_answer(target, self._awaited(handler_of(target)(payload, Unit.of(message, self._blobs))))
        if message["do"] == "open":
            opened = self._awaited(handler_of(target)(payload, Unit.of(message, self._blobs)))
            self._sessions[session] = cast("Stepper", opened)
            return {}
        if message["do"] == "step":
            return checked_answer(target, self._awaited(self._sessions[session].step(payload)))
        close: object = getattr(self._sessions.pop(session, None), "close", None)
        if callable(close):
            self._awaited(close())
        return {}

    def _awaited(self, value: object) -> object:
        if not hasattr(value, "__await__"):
            return value
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(cast("Awaitable[object]", value))
