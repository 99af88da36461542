"""The slow update's one call: two successive skills on the same tasks become guidance to the target.

The guidance lives in a region of its own that no step edits, so that what a whole epoch taught outlasts the single
edits of the next one. What is written here is a proposal; the engine decides whether it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.core.editing.regions import slow_update_text, without_markers
from skillopt.core.skill import Skill
from skillopt.envs.base import Env
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.epoch.pairs import Pair, counts, render_pairs
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.epoch import SLOW_UPDATE_REPLY, Written, read_written
from skillopt.optimizer.trajectory import estimated_tokens
from skillopt.records.vocabulary import Stage

FRAME_TOKENS = 400
"""Room for headings and labels of the user prompt."""
LEAST_TOKENS = 1_000
"""Room that the comparison gets however long the skills are."""


@dataclass(frozen=True)
class Compared:
    """What an epoch's end has to judge by: the skill of an epoch ago, the one of now, and how both did."""

    prev: Skill
    curr: Skill
    pairs: Sequence[Pair]


async def ask_guidance(compared: Compared, env: Env, ctx: StageContext) -> tuple[Written | None, str]:
    """New text for the slow-update region, or None and why there is none. Raises `StopRun`."""
    system = ctx.prompts.render("slow_update_system")
    guidance = slow_update_text(compared.curr)
    user = ctx.prompts.render(
        "slow_update_user",
        **skills_of(compared),
        guidance=guidance,
        counts=counts(compared.pairs),
        pairs=comparison(compared, env, ctx, fixed=system + guidance),
    )
    request = replace(
        ctx.request(system, user, stage=Stage.SLOW_UPDATE), schema=SLOW_UPDATE_REPLY, schema_name="slow_update"
    )
    written, lost = await ask_optional(ctx, request, lambda raw: read_written(raw, "slow_update_content"))
    return (replace(written, content=without_markers(written.content).strip()) if written else None), lost


def skills_of(compared: Compared) -> dict[str, str | None]:
    """Both skills for a prompt; the previous one is None when nothing changed, so that it is not shown twice."""
    same = compared.prev == compared.curr
    return {"skill": compared.curr.text.strip(), "previous": None if same else compared.prev.text.strip()}


def comparison(compared: Compared, env: Env, ctx: StageContext, *, fixed: str) -> str:
    """The pairs as text, in the room that skills and `fixed` leave of the prompt budget."""
    spent = sum(map(estimated_tokens, (fixed, compared.prev.text, compared.curr.text))) + FRAME_TOKENS
    room = max(LEAST_TOKENS, ctx.settings.prompt_token_budget - spent)
    return render_pairs(compared.pairs, env.task_text, token_budget=room)
