"""Meta reflection's one call: an epoch's accepted and rejected directions become a summary and one more change.

The change is asked for in the terms of the run's update mode (whole documents have no items to choose, so there it is
suggestions that a rewrite works in); the summary is read by the next meta reflection and by nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.core.editing.change import Change, with_items
from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, as_array, as_number, as_object, as_text
from skillopt.core.skill import Skill
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.modes import PATCH, REWRITE, UpdateMode
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.epoch import META_REFLECT_REPLY, reply_object, text_field, with_patch
from skillopt.optimizer.trajectory import CHARS_PER_TOKEN, cut, estimated_tokens
from skillopt.records.vocabulary import Stage

MOST_TOKENS = 4_096
"""Completion tokens of the reply."""
MOST_WORDS = 200
ITEM_CHARS = 220
"""Shown of one selected edit."""
_LEAST_TOKENS = 1_000


@dataclass(frozen=True)
class MetaReply:
    """A readable reply. `change` holds at most the budget's items, possibly none."""

    summary: str
    change: Change


def mode_of(ctx: StageContext) -> UpdateMode:
    """How the change is asked for."""
    return PATCH if ctx.mode.name == PATCH.name else REWRITE


async def ask_directions(
    skill: Skill, steps: Sequence[JsonObject], summary: str, budget: int, ctx: StageContext
) -> tuple[MetaReply | None, str]:
    """Summary and change, or None and why there is none. `summary` is the earlier one. Raises `StopRun`."""
    mode = mode_of(ctx)
    system = ctx.prompts.render(f"meta_reflect{mode.suffix}_system", budget=budget, noun=mode.noun)
    fixed = sum(map(estimated_tokens, (system, skill.text, summary))) + 400
    room = max(_LEAST_TOKENS, ctx.settings.prompt_token_budget - fixed)
    user = ctx.prompts.render(
        "meta_reflect_user",
        skill=skill.text.strip(),
        budget=budget,
        noun=mode.noun,
        summary=summary,
        history=render_steps(steps, limit=int(room * CHARS_PER_TOKEN)),
    )
    schema = META_REFLECT_REPLY if mode.payload is None else with_patch(META_REFLECT_REPLY, mode.payload)
    cap = min(MOST_TOKENS, ctx.settings.max_completion_tokens)
    request = ctx.request(system, user, stage=Stage.META_REFLECT, cap=cap)
    request = replace(request, schema=schema, schema_name="meta_reflect")
    return await ask_optional(ctx, request, lambda raw: read_meta(raw, mode, budget))


def read_meta(raw: object, mode: UpdateMode, budget: int) -> MetaReply:
    """A reply `{meta_summary, patch}`, cut to the budget and to the summary's length. Raises `ReplyError`."""
    reply = reply_object(raw)
    if "patch" not in reply:
        raise ReplyError(f'the reply has no "patch" object with "reasoning" and "{mode.key}"')
    change = mode.read(reply["patch"], source_type="mixed", support=1)
    words = text_field(reply, "meta_summary").split()
    summary = " ".join(words) if len(words) < MOST_WORDS else " ".join(words[: MOST_WORDS - 2]) + " …"
    return MetaReply(summary, with_items(change, change.items[:budget]))


def render_steps(steps: Sequence[JsonObject], *, limit: int) -> str:
    """One block a step, of at most about `limit` characters in all."""
    blocks: list[str] = []
    for step in steps:
        lines = [
            f"Step {step['step']}: {step['action']}{step['score']}; best so far {_score(as_number(step['best_score']))}"
        ]
        lines += [f"- {cut(as_text(item), ITEM_CHARS)}" for item in as_array(step["items"])] or ["- (skipped)"]
        for row in map(as_object, as_array(step["patterns"])):
            lines.append(f"- failures ({row['count']}x): {cut(as_text(row['pattern']), ITEM_CHARS)}")
        blocks.append("\n".join(lines))
    return cut("\n".join(blocks), limit)


def _score(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"
