"""Stage 3: many changes (patches, suggestions or documents) become one, level by level, both groups side by side.

A chunk of one passes unchanged and one change in total needs no call. An unusable merge reply falls back to the plain
concatenation of its inputs, with a recorded warning: nothing that was paid for is lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.aio import gather_all
from skillopt.core.editing.change import Change, Documents, at_level, concatenated
from skillopt.core.skill import Skill
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.records.vocabulary import Stage


async def merge(name: str, changes: Sequence[Change], skill: Skill, ctx: StageContext, level: int | None) -> Change:
    """One merge call; `name` (`failure`, `success`, `final`) says where the inputs come from."""
    mode = ctx.mode
    system = ctx.prompts.render(f"merge{mode.suffix}_system", variant=name)
    dump = json.dumps({"merge_level": level, "patches": [c.to_json() for c in changes]}, ensure_ascii=False, indent=1)
    user = ctx.prompts.render("merge_user", skill=skill.text.strip(), patches=dump, meta_skill=ctx.meta_skill)
    request = ctx.request(system, user, stage=Stage.MERGE, cap=ctx.item_cap)
    request = replace(request, schema=mode.merge_schema, schema_name="merge")
    # A document stands for all that it was made of; of edits and suggestions the merge itself has to say it.
    support = sum(item.support_count for c in changes if isinstance(c, Documents) for item in c.items) or 1
    merged, lost = await ask_optional(ctx, request, lambda raw: mode.read(raw, source_type="mixed", support=support))
    return concatenated(changes, lost) if merged is None else at_level(merged, level)


async def reduce_group(name: str, changes: Sequence[Change], skill: Skill, ctx: StageContext) -> Change | None:
    """Reduce one group to a single change; None when it is empty. Chunks of a level run in parallel."""
    size = max(2, ctx.settings.merge_batch_size)
    level = 0
    current: list[Change] = list(changes)
    while len(current) > 1:
        level += 1
        chunks = [current[at : at + size] for at in range(0, len(current), size)]
        merged = await gather_all([merge(name, c, skill, ctx, level) for c in chunks if len(c) > 1])
        following = iter(merged)
        current = [c[0] if len(c) == 1 else next(following) for c in chunks]
    return current[0] if current else None


async def aggregate(failures: Sequence[Change], successes: Sequence[Change], skill: Skill, ctx: StageContext) -> Change:
    """One change out of all. Failure-driven edits take priority in the final merge."""
    failure, success = await gather_all(
        [reduce_group("failure", failures, skill, ctx), reduce_group("success", successes, skill, ctx)]
    )
    if failure is None or success is None:
        return failure or success or ctx.mode.empty
    return await merge("final", [failure, success], skill, ctx, None)
