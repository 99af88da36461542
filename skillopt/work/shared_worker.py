"""The worker for units that only wait (for a program): many at once on one event loop, each of them cancellable.

A cancelled unit is answered when its own clean-up has ended, so the driver knows that nothing of it is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import BinaryIO, cast

from skillopt.core.json_types import JsonObject
from skillopt.work import frames
from skillopt.work.blobs import Blobs
from skillopt.work.handling import Unit, checked_answer, failure_of, handler_of


def serve(requests: BinaryIO, answers: BinaryIO, blobs: Blobs) -> None:
    """Until the driver goes away; what still runs then is cancelled."""
    asyncio.run(_Shared(answers, blobs).serve(requests))


class _Shared:
    def __init__(self, answers: BinaryIO, blobs: Blobs) -> None:
        self._answers, self._blobs = answers, blobs
        self._running: dict[int, asyncio.Task[None]] = {}

    async def serve(self, requests: BinaryIO) -> None:
        stream = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), requests)
        while (message := await frames.receive(stream)) is not None:
            number = cast("int", message["n"])
            if message["do"] == "cancel":
                if number in self._running:
                    self._running[number].cancel()
                else:  # it has just ended by itself
                    self._send(frames.encode({"n": number, "cancelled": True}))
                continue
            task = asyncio.get_running_loop().create_task(self._one(number, message))
            self._running[number] = task
            task.add_done_callback(lambda _, number=number: self._running.pop(number))

    async def _one(self, number: int, message: JsonObject) -> None:
        target = str(message["target"])
        try:
            answer = handler_of(target)(cast("JsonObject", message["payload"]), Unit.of(message, self._blobs))
            value = checked_answer(target, await cast("Awaitable[object]", answer))
            frame = frames.encode({"n": number, "value": value})
        except asyncio.CancelledError:
            frame = frames.encode({"n": number, "cancelled": True})
        except BaseException as error:  # noqa: BLE001
            # It goes to the driver with its traceback, which raises it there: a worker that died of one unit's
            # sys.exit() would take the other units with it.
            frame = frames.encode({"n": number, "error": failure_of(error)})
        self._send(frame)

    def _send(self, frame: bytes) -> None:
        self._answers.write(frame)
        self._answers.flush()
