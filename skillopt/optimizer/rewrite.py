"""Stage 5 of the rewriting modes: suggestions or a whole document become the text of a candidate skill.

The writer is never trusted to copy what is protected: header and regions of the skill in force are put back by code,
byte for byte, and markers that it wrote are removed. A reply that is lost, unreadable or cut by the token limit gives
no text, and says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.editing.change import Documents, Rewrite, Suggestion
from skillopt.core.editing.regions import restored
from skillopt.core.skill import Skill
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.rewrite import REWRITE_REPLY, read_rewrite
from skillopt.records.vocabulary import Stage


async def rewrite(suggestions: Sequence[Suggestion], skill: Skill, ctx: StageContext, *, buffer_text: str) -> Rewrite:
    """One call that works suggestions into the whole skill. The optimizer's meta skill is not shown."""
    s = ctx.settings
    system = ctx.prompts.render("rewrite_system")
    user = ctx.prompts.render(
        "rewrite_user",
        skill=skill.text.strip(),
        previous=buffer_text,
        suggestions=json.dumps([item.to_json() for item in suggestions], ensure_ascii=False, indent=1),
    )
    request = replace(
        ctx.request(system, user, stage=Stage.REWRITE, cap=s.rewrite_max_completion_tokens),
        reasoning_effort=s.rewrite_reasoning_effort or None,
        schema=REWRITE_REPLY,
        schema_name="rewrite",
    )
    written, lost = await ask_optional(ctx, request, read_rewrite)
    return Rewrite(lost=lost) if written is None else written


def chosen_document(documents: Documents) -> Rewrite:
    """The first document with text as a rewrite; without one there is no text."""
    document = documents.first
    if document is None:
        return Rewrite(lost="no document with text")
    return Rewrite(document.new_skill, document.change_summary, documents.reasoning)


def candidate(skill: Skill, text: str) -> Skill | None:
    """The skill that `text` makes of `skill`: what is protected put back, markers gone, ends in one newline.

    The same body gives `skill` itself, whatever its blank lines; None when no body is left.
    """
    new = restored(skill, text)
    if new == restored(skill, ""):
        return None
    return skill if new == restored(skill, skill.text) else new
