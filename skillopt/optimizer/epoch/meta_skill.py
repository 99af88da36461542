"""The meta skill: the optimizer's memory from one epoch to the next. It advises the optimizer and never the target.

One call sees how two successive skills did on the same tasks and what was remembered so far, and writes the memory
anew. The next epoch's analysts, merges and rankings read it; it never edits a skill.
"""

from __future__ import annotations

from dataclasses import replace

from skillopt.envs.base import Env
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.epoch.pairs import counts
from skillopt.optimizer.epoch.slow_update import Compared, comparison, skills_of
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.epoch import META_SKILL_REPLY, Written, read_written
from skillopt.optimizer.trajectory import cut
from skillopt.records.vocabulary import Stage

MEMORY_CHARS = 6_000
"""What a memory may take of every prompt of the next epoch."""


async def ask_memory(compared: Compared, memory: str, env: Env, ctx: StageContext) -> tuple[Written | None, str]:
    """The new memory, or None and why there is none. `memory` is the one so far. Raises `StopRun`."""
    system = ctx.prompts.render("meta_skill_system")
    user = ctx.prompts.render(
        "meta_skill_user",
        **skills_of(compared),
        memory=memory,
        counts=counts(compared.pairs),
        pairs=comparison(compared, env, ctx, fixed=system + memory),
    )
    request = replace(
        ctx.request(system, user, stage=Stage.META_SKILL), schema=META_SKILL_REPLY, schema_name="meta_skill"
    )
    written, lost = await ask_optional(ctx, request, lambda raw: read_written(raw, "meta_skill_content"))
    return (replace(written, content=cut(written.content, MEMORY_CHARS)) if written else None), lost
