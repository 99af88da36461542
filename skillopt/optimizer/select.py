"""Stage 4: at most B items survive. With B or fewer nothing is asked; B = 0 selects nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.core.editing.change import Change, with_items
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import Skill
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.edits import RANKING_REPLY, read_ranking
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True)
class Selection:
    """The kept items; `fallback` says why the first B were taken when the ranking reply could not be used."""

    change: Change
    indices: tuple[int, ...]
    fallback: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """`ranked_edits.json`."""
        return {
            **self.change.to_json(),
            "ranking_details": {"selected_indices": list(self.indices), "fallback": self.fallback},
        }


async def select(change: Change, skill: Skill, ctx: StageContext, *, budget: int | None) -> Selection:
    """Rank and keep at most `budget` items (None = no limit)."""
    count, mode = len(change.items), ctx.mode
    if budget is None or count <= budget:
        return Selection(change, tuple(range(count)))
    if budget <= 0:
        return Selection(with_items(change, ()), ())
    system = ctx.prompts.render(f"ranking{mode.suffix}_system", budget=budget)
    user = ctx.prompts.render(
        "ranking_user",
        skill=skill.text.strip(),
        items=mode.lines(change.items),
        noun=mode.noun,
        budget=budget,
        meta_skill=ctx.meta_skill,
    )
    request = replace(ctx.request(system, user, stage=Stage.RANKING), schema=RANKING_REPLY, schema_name="ranking")
    indices, fallback = await ask_optional(ctx, request, lambda raw: read_ranking(raw, count=count, budget=budget))
    if not indices:
        indices, fallback = tuple(range(budget)), fallback or "the ranking named no valid item"
    return Selection(with_items(change, [change.items[i] for i in indices]), indices, fallback)
