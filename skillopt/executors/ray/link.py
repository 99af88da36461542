"""The pool process as the run sees it: started behind a guard, asked by number like any worker.

However this process ends, the pool process ends too, and with it a cluster of one's own; actors of a cluster elsewhere
end with their driver.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import cast

from skillopt.core.json_types import JsonObject
from skillopt.executors.ray.settings import RaySettings
from skillopt.work.handling import raised
from skillopt.work.member import Lost, Member, begun

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from skillopt.executors.ray.pool import main; main()"
_END_S = 20.0


async def open_pool(settings: RaySettings, blobs: str) -> Member:
    """Start it and wait until it is connected. Raises `ConfigError` for what people can put right, `Lost` otherwise."""
    hello: JsonObject = {"blobs": blobs, "settings": settings.to_json()}
    member, ready = await begun(BOOT, hello, shared=True, seconds=settings.start_seconds)
    if "error" in ready:
        await member.end()
        raise raised(cast("JsonObject", ready["error"]))
    return member


async def end_pool(member: Member, number: int) -> None:
    """Let it end its workers, then end it."""
    with contextlib.suppress(Lost, asyncio.TimeoutError):
        await asyncio.wait_for(member.ask(number, {"do": "end"}), _END_S)
    await member.end()
