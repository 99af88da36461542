"""Stage 4: at most B edits survive. With B or fewer nothing is asked; B = 0 selects nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.core.edit import Edit, Patch
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.skill import Skill
from skillopt.model.replies import ask_json
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.schemas import RANKING_REPLY, read_ranking
from skillopt.optimizer.trajectory import cut


@dataclass(frozen=True)
class Selection:
    """The kept edits; `fallback` says why the first B were taken when the ranking reply could not be used."""

    patch: Patch
    indices: tuple[int, ...]
    fallback: str = ""


def describe(edit: Edit) -> str:
    """One line for the ranking prompt."""
    place = f" at «{cut(edit.target, 160)}»" if edit.target else ""
    return f"{edit.op}{place} (support {edit.support_count}, {edit.source_type}): {cut(edit.content or '', 500)}"


async def select(patch: Patch, skill: Skill, ctx: StageContext, *, budget: int | None) -> Selection:
    """Rank and keep at most `budget` edits (None = no limit)."""
    count = len(patch.edits)
    if budget is None or count <= budget:
        return Selection(patch, tuple(range(count)))
    if budget <= 0:
        return Selection(replace(patch, edits=()), ())
    system = ctx.prompts.render("ranking_system", budget=budget)
    lines = "\n".join(f"[{n}] {describe(e)}" for n, e in enumerate(patch.edits))
    user = ctx.prompts.render("ranking_user", skill=skill.text.strip(), items=lines, budget=budget)
    request = replace(ctx.request(system, user, stage="ranking"), schema=RANKING_REPLY, schema_name="ranking")
    fallback, indices = "", tuple[int, ...]()
    try:
        asked = await ask_json(ctx.model, request, lambda raw: read_ranking(raw, count=count, budget=budget))
    except StopRun:
        raise
    except ModelError as error:
        ctx.tally.dropped += 1
        fallback = f"ranking call failed: {error}"
    else:
        for usage in asked.usages:
            ctx.tally.add("ranking", usage)
        ctx.tally.reasks += asked.reasks
        if asked.value is None:
            ctx.tally.dropped += 1
            fallback = f"ranking reply dropped: {asked.dropped}"
        else:
            indices = asked.value
            fallback = "" if indices else "the ranking named no valid item"
    if not indices:
        indices = tuple(range(budget))
    kept = tuple(patch.edits[i] for i in indices)
    return Selection(replace(patch, edits=kept), indices, fallback)
