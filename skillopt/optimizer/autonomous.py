"""The autonomous edit budget: one call decides how many of the merged items are applied now. Zero is allowed.

The call sees the evidence and no default to lean on. What it answers is read leniently and clamped to the number of
items; an answer that cannot be used, after one re-ask, is no decision: the schedule's value holds and the fallback is
recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skillopt.core.editing.change import Change
from skillopt.core.errors import ModelError, ReplyError, StopRun
from skillopt.core.json_types import JsonValue, as_object
from skillopt.core.skill import Skill
from skillopt.model.replies import ask_json
from skillopt.optimizer.context import StageContext
from skillopt.records.vocabulary import Stage

CONFIDENCE = ("low", "medium", "high")
_INTEGER = re.compile(r"(?<!\w)-\d+|\d+", re.ASCII)
_MOST_DIGITS = 18

_TEXT = {"type": "string"}
LR_REPLY = {
    "type": "object",
    "properties": {
        "reasoning": _TEXT,
        "learning_rate": {"type": "integer"},
        "confidence": {"type": "string", "enum": list(CONFIDENCE)},
        "risk_notes": {"type": "array", "items": _TEXT},
    },
    "required": ["reasoning", "learning_rate", "confidence", "risk_notes"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Wish:
    """A readable answer: `raw` is the number as it was written, `value` what it means."""

    raw: JsonValue
    value: int
    reasoning: str = ""
    confidence: str = ""
    risk_notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LrDecision:
    """How many items this step applies. `lost` says why the schedule had to stand in; blank when it did not."""

    learning_rate: int
    available: int
    wish: Wish | None
    raw_response: str = ""
    lost: str = ""

    def to_json(self, *, step: int, epoch: int) -> dict[str, JsonValue]:
        """`lr_decision.json`, the record's `lr_decision` and a line of `lr_history.jsonl`."""
        wish = self.wish
        return {
            "step": step,
            "epoch": epoch,
            "learning_rate": self.learning_rate,
            "raw_learning_rate": wish.raw if wish else None,
            "available_update_items": self.available,
            "clamped": wish is not None and wish.value > self.available,
            "fallback": wish is None,
            "fallback_reason": self.lost,
            "reasoning": wish.reasoning if wish else "",
            "confidence": wish.confidence if wish else "",
            "risk_notes": list(wish.risk_notes) if wish else [],
            "raw_response": self.raw_response,
        }


@dataclass(frozen=True)
class BatchScore:
    """How the batch's rollouts did with the skill in force."""

    n: int
    hard: float
    soft: float


async def decide(
    changes: Sequence[Change], skill: Skill, ctx: StageContext, *, batch: BatchScore, buffer_text: str, scheduled: int
) -> LrDecision:
    """Ask for this step's budget. With several proposals one number bounds each of them; one at most is applied.

    Raises `StopRun`; a lost call falls back to `scheduled`.
    """
    mode, available = ctx.mode, max((len(c.items) for c in changes), default=0)
    system = ctx.prompts.render("lr_autonomous_system", noun=mode.noun)
    user = ctx.prompts.render(
        "lr_autonomous_user",
        skill=skill.text.strip(),
        batch=batch,
        noun=mode.noun,
        proposals=[mode.lines(c.items) for c in changes if c.items],
        previous=buffer_text,
        meta_skill=ctx.meta_skill,
    )
    request = replace(
        ctx.request(system, user, stage=Stage.LR_AUTONOMOUS), schema=LR_REPLY, schema_name="lr_autonomous"
    )
    try:
        asked = await ask_json(ctx.model, request, read_wish)
    except StopRun:
        raise
    except ModelError as error:
        ctx.tally.dropped += 1
        return LrDecision(scheduled, available, None, lost=f"the lr_autonomous call failed: {error}")
    for usage in asked.usages:
        ctx.tally.add("lr_autonomous", usage)
    ctx.tally.reasks += asked.reasks
    if asked.value is None:
        ctx.tally.dropped += 1
        return LrDecision(scheduled, available, None, asked.text, f"the reply was dropped: {asked.dropped}")
    return LrDecision(min(asked.value.value, available), available, asked.value, asked.text)


def read_wish(raw: object) -> Wish:
    """Read `{learning_rate, reasoning, confidence, risk_notes}`. Raises `ReplyError` when no number can be read."""
    if not isinstance(raw, Mapping):
        raise ReplyError(f"the reply must be one JSON object, got {type(raw).__name__}")
    reply = as_object(cast("object", raw))
    given = reply.get("learning_rate")
    value = read_count(given)
    if value is None:
        raise ReplyError('"learning_rate" must be a whole number, 0 or more')
    reasoning, confidence, notes = reply.get("reasoning"), reply.get("confidence"), reply.get("risk_notes")
    entries: list[JsonValue] = notes if isinstance(notes, list) else [notes]
    return Wish(
        raw=given,
        value=value,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        confidence=confidence if isinstance(confidence, str) and confidence in CONFIDENCE else "",
        risk_notes=tuple(note for note in entries if isinstance(note, str) and note),
    )


def read_count(value: object) -> int | None:
    """An integer, an integral float, or the first integer in a text; None for anything else and below zero."""
    if isinstance(value, str):
        found = _INTEGER.search(value)
        value = int(found.group()[:_MOST_DIGITS]) if found else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value
