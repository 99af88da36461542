"""An optimizer call that a run can do without: a lost or unreadable reply costs its own contribution and is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from skillopt.core.errors import ModelError, StopRun
from skillopt.model.replies import ask_json
from skillopt.model.types import ChatRequest
from skillopt.optimizer.context import StageContext

T = TypeVar("T")


async def ask_optional(ctx: StageContext, request: ChatRequest, read: Callable[[Any], T]) -> tuple[T | None, str]:
    """What `read` made of the reply, or None and why there is none. Usage is tallied under the request's stage.

    Raises `StopRun`: what ends the run ends it here too.
    """
    stage = request.stage
    try:
        asked = await ask_json(ctx.model, request, read)
    except StopRun:
        raise
    except ModelError as error:
        ctx.tally.dropped += 1
        return None, f"the {stage} call failed: {error}"
    for usage in asked.usages:
        ctx.tally.add(stage, usage)
    ctx.tally.reasks += asked.reasks
    if asked.value is None:
        ctx.tally.dropped += 1
        return None, f"the {stage} reply was dropped: {asked.dropped}"
    return asked.value, ""
