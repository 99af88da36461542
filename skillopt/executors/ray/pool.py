"""The program of the pool process: the one that holds the connection to Ray, as a child of the run.

It reads requests from its standard input, answers on its standard output, and ends with its input. Its first answer is
`ready`, or the `error` because of which it cannot serve. Ray may end this process when its control service is gone; for
the run that is a lost worker.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.executors.ray import cluster
from skillopt.executors.ray.settings import RaySettings
from skillopt.work import frames
from skillopt.work.blobs import Blobs
from skillopt.work.handling import failure_of
from skillopt.work.slots import cores
from skillopt.work.worker import own_streams


def main() -> None:
    """Serve until the run goes away."""
    requests, answers = own_streams()
    hello = frames.read(requests)
    if hello is None:
        return
    sys.path[:] = cast("list[str]", hello["path"])
    settings = RaySettings.from_json(cast("JsonObject", hello["settings"]))
    try:
        cluster.prepare_environment(settings)
        cluster.connect(settings, cores())
    except ConfigError as error:
        answers.write(frames.encode({"error": failure_of(error)}))
        answers.flush()
        return
    answers.write(frames.encode({"ready": os.getpid()}))
    answers.flush()

    async def serve() -> None:
        from skillopt.executors.ray.desk import Desk

        await Desk(settings, Blobs(str(hello["blobs"])), answers).serve(requests)

    try:
        asyncio.run(serve())
    finally:
        cluster.leave()
