"""Stage 3: many patches become one, level by level, failures and successes side by side.

A chunk of one passes unchanged and one patch in total needs no call. An unusable merge reply falls back to the plain
concatenation of its inputs, with a recorded warning: nothing that was paid for is lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.aio import gather_all
from skillopt.core.edit import Patch
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.skill import Skill
from skillopt.model.replies import ask_json
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.schemas import MERGE_REPLY, read_merge


def concatenated(patches: Sequence[Patch], warning: str = "") -> Patch:
    """All edits in order."""
    edits = tuple(e for p in patches for e in p.edits)
    return Patch(edits, "\n".join(p.reasoning for p in patches if p.reasoning), {"warning": warning} if warning else {})


async def _merge(name: str, patches: Sequence[Patch], skill: Skill, ctx: StageContext, level: int | None) -> Patch:
    system = ctx.prompts.render("merge_system", variant=name)
    dump = json.dumps({"merge_level": level, "patches": [p.to_json() for p in patches]}, ensure_ascii=False, indent=1)
    user = ctx.prompts.render("merge_user", skill=skill.text.strip(), patches=dump)
    request = replace(ctx.request(system, user, stage="merge"), schema=MERGE_REPLY, schema_name="merge")
    try:
        asked = await ask_json(ctx.model, request, read_merge)
    except StopRun:
        raise
    except ModelError as error:
        ctx.tally.dropped += 1
        return concatenated(patches, f"merge call failed: {error}")
    for usage in asked.usages:
        ctx.tally.add("merge", usage)
    ctx.tally.reasks += asked.reasks
    if asked.value is None:
        ctx.tally.dropped += 1
        return concatenated(patches, f"merge reply dropped: {asked.dropped}")
    if level is None:
        return asked.value
    return replace(asked.value, edits=tuple(replace(e, merge_level=level) for e in asked.value.edits))


async def reduce_group(name: str, patches: Sequence[Patch], skill: Skill, ctx: StageContext) -> Patch | None:
    """Reduce one group to a single patch; None when it is empty. Chunks of a level run in parallel."""
    size = max(2, ctx.settings.merge_batch_size)
    level = 0
    current: list[Patch] = list(patches)
    while len(current) > 1:
        level += 1
        chunks = [current[at : at + size] for at in range(0, len(current), size)]
        merged = await gather_all([_merge(name, c, skill, ctx, level) for c in chunks if len(c) > 1])
        following = iter(merged)
        current = [c[0] if len(c) == 1 else next(following) for c in chunks]
    return current[0] if current else None


async def aggregate(failures: Sequence[Patch], successes: Sequence[Patch], skill: Skill, ctx: StageContext) -> Patch:
    """One patch out of all. Failure-driven edits take priority in the final merge."""
    failure, success = await gather_all(
        [reduce_group("failure", failures, skill, ctx), reduce_group("success", successes, skill, ctx)]
    )
    if failure is None or success is None:
        return failure or success or Patch()
    return await _merge("final", [failure, success], skill, ctx, None)
