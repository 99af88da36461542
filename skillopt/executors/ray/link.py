"""The pool process as the run sees it: started behind a guard, asked by number like any worker.

However this process ends, the pool process ends too, and with it a cluster of one's own; actors of a cluster elsewhere
end with their driver.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject
from skillopt.executors.ray.settings import RaySettings
from skillopt.harnesses.guarded import start
from skillopt.work import frames
from skillopt.work.handling import raised
from skillopt.work.member import Lost, Member

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from skillopt.executors.ray.pool import main; main()"
_ROOT = str(Path(__file__).resolve().parents[3])
_END_S = 20.0


async def open_pool(settings: RaySettings, blobs: str) -> Member:
    """Start it and wait until it is connected. Raises `ConfigError` for what people can put right, `Lost` otherwise."""
    program = await start(
        (sys.executable, "-c", BOOT, _ROOT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdin, stdout = program.process.stdin, program.process.stdout
    assert stdin is not None and stdout is not None
    path = [entry or os.getcwd() for entry in sys.path]
    stdin.write(frames.encode({"path": path, "blobs": blobs, "settings": settings.to_json()}))
    try:
        ready = await asyncio.wait_for(frames.receive(stdout), settings.start_seconds)
    except asyncio.TimeoutError:
        ready = None
    except BaseException:
        program.release()
        raise
    member = Member(program, shared=True)
    if ready is None:
        await member.end()
        raise Lost(await member.how())
    if "error" in ready:
        await member.end()
        raise raised(cast("JsonObject", ready["error"]))
    return member


async def end_pool(member: Member, number: int) -> None:
    """Let it end its workers, then end it."""
    with contextlib.suppress(Lost, asyncio.TimeoutError):
        await asyncio.wait_for(member.ask(number, {"do": "end"}), _END_S)
    await member.end()
