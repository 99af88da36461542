"""A judge model and a rubric: `{name: rubric, text: "…"}` for one grade, `{name: rubric, criteria: [...]}` for a list.

With `criteria` the judge says of each whether it is met: hard is 1 when all are (by majority over the repeats), soft is
their share. With `text` it gives 0 to 10: soft is the mean over the repeats, hard whether it reaches `passes`. The
judge's reasons are kept as feedback, which analysts of training items read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field, model_validator

from skillopt.core.errors import DataError, ReplyError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, as_object
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.scorers.judging import JudgingScorer, Question, blocks
from skillopt.envs.scoring import ScoreContext
from skillopt.envs.templates import Template

_SCALE = 10
_SYSTEM = "prompts/rubric_system.md"


class Rubric(JudgingScorer):
    """Ask a judge. Use it where no rule can tell a good answer; calibrate it first (`skillopt judge calibrate`)."""

    name: Literal["rubric"] = "rubric"
    text: str = Field(default="", description="What makes a good answer, graded from 0 to 10.")
    criteria: list[str] = Field(
        default_factory=list[str], description="Statements of which each is met or not; in place of `text`."
    )
    criteria_field: str = Field(
        default="", description="The item's field with criteria of its own (a list of statements); in place of both."
    )
    passes: float = Field(
        default=0.7, gt=0, le=1, description="With `text`: an answer of this grade (0 to 1) is right."
    )
    show_reference: bool = Field(default=True, description="Show the gold answer, where there is one, to the judge.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Rubric:
        if [bool(self.text.strip()), bool(self.criteria), bool(self.criteria_field)].count(True) != 1:
            raise ValueError("a rubric has either text or criteria or criteria_field")
        if any(not criterion.strip() for criterion in self.criteria):
            raise ValueError("a criterion is blank")
        return self

    def check(self, item: Item, gold: Gold) -> None:
        """A rubric needs no gold answer; criteria of its own an item must have."""
        if self.criteria_field and not self._own(item):
            raise DataError(f"item {item.id!r}: field {self.criteria_field!r} is no list of statements")

    def _own(self, item: Item) -> list[str]:
        """The criteria that an item is judged by."""
        raw: JsonValue = item.data.get(self.criteria_field) if self.criteria_field else None
        stated = [str(one).strip() for one in as_array(raw)] if isinstance(raw, list) else list(self.criteria)
        return stated if all(stated) else []

    def judge_texts(self) -> Sequence[str]:
        """The rubric."""
        return (self.text,) if self.text.strip() else tuple(self.criteria)

    def identity(self) -> dict[str, Any]:
        """Options and prompt."""
        options = self.model_dump(mode="json", exclude=None if self.criteria_field else {"criteria_field"})
        return {**options, "prompt": Template.beside(__file__, _SYSTEM).digest}

    async def judged(self, answer: str, gold: Gold, ctx: ScoreContext, *, first: int = 0) -> Outcome:
        """Ask the judge. An empty answer is not put to it: it meets nothing."""
        if not answer.strip():
            return Scored(0.0, 0.0, fail_reason="the answer is empty")
        criteria = self._own(ctx.rollout.item)
        values = {"text": self.text.strip(), "criteria": criteria}
        system = Template.beside(__file__, _SYSTEM).render(values).strip()
        reference = "\n".join(gold.texts) if self.show_reference else ""
        user = blocks(task=ctx.task, answer=answer, reference=reference)
        if criteria:
            return await self._by_criteria(criteria, answer, system, user, ctx, first)
        graded = await self.ask(ctx, [Question(system, user, _GRADE, read_grade)], first=first)
        if isinstance(graded, Missing):
            return graded
        soft = math.fsum(grade for grade, _ in graded) / len(graded)
        reasons = " / ".join(reason for _, reason in graded)
        hard = float(soft >= self.passes)
        why = "" if hard else f"graded {soft:.2f} of 1, {self.passes:g} is right"
        return Scored(hard, soft, why, answer, {FEEDBACK: reasons, "grades": [grade for grade, _ in graded]})

    async def _by_criteria(
        self, criteria: Sequence[str], answer: str, system: str, user: str, ctx: ScoreContext, first: int
    ) -> Outcome:
        count = len(criteria)
        question = Question(system, user, _VERDICTS, lambda raw: read_verdicts(raw, count))
        asked = await self.ask(ctx, [question], first=first)
        if isinstance(asked, Missing):
            return asked
        shares = [sum(one[n][0] for one in asked) / len(asked) for n in range(count)]
        met = [share > 0.5 for share in shares]
        unmet = [criterion for criterion, yes in zip(criteria, met, strict=True) if not yes]
        lines = [f"{'met' if yes else 'not met'}: {criterion} ({asked[0][n][1]})"
                 for n, (criterion, yes) in enumerate(zip(criteria, met, strict=True))]  # fmt: skip
        why = f"not met: {'; '.join(unmet)}" if unmet else ""
        return Scored(float(not unmet), sum(met) / count, why, answer, {FEEDBACK: "\n".join(lines), "shares": shares})


_GRADE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": _SCALE}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
_VERDICTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "criterion": {"type": "integer"},
                    "reason": {"type": "string"},
                    "met": {"type": "boolean"},
                },
                "required": ["criterion", "reason", "met"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


def read_grade(raw: object) -> tuple[float, str]:
    """(grade from 0 to 1, reason). Raises `ReplyError`."""
    row = _object(raw)
    grade = row.get("score")
    if isinstance(grade, bool) or not isinstance(grade, (int, float)) or not 0 <= grade <= _SCALE:
        raise ReplyError(f'"score" must be a number from 0 to {_SCALE}, got {grade!r}')
    return grade / _SCALE, str(row.get("reason") or "")


def read_verdicts(raw: object, count: int) -> list[tuple[bool, str]]:
    """(met, reason) of each criterion, in their order. Raises `ReplyError`."""
    rows = _object(raw).get("verdicts")
    found: dict[int, tuple[bool, str]] = {}
    for entry in as_array(rows):
        row = _object(entry)
        number, met = row.get("criterion"), row.get("met")
        if isinstance(number, bool) or not isinstance(number, int) or not isinstance(met, bool):
            raise ReplyError('each verdict needs "criterion" (a number) and "met" (true or false)')
        if number in found:
            raise ReplyError(f"criterion {number} is judged twice")
        found[number] = met, str(row.get("reason") or "")
    if sorted(found) != list(range(1, count + 1)):
        raise ReplyError(f'"verdicts" must judge each of the criteria 1 to {count} once')
    return [found[n] for n in range(1, count + 1)]


def _object(raw: object) -> Mapping[str, JsonValue]:
    if not isinstance(raw, Mapping):
        raise ReplyError("the verdict must be a JSON object")
    return as_object(cast("object", raw))
