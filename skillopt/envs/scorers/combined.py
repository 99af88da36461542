"""Several scorers as one. `all_of` is right where all its parts are; `weighted` is the weighted mean of its parts.

    scorer: {name: all_of, parts: [{name: contains, max_chars: 400}, {name: rubric, text: "…"}]}
    scorer: {name: weighted, passes: 0.7, parts: [{scorer: exact, weight: 2}, {scorer: my_scorer:score, weight: 1}]}

Every part sees the same answer. A part without a score (a judge without a verdict, a lost worker) leaves the whole
without one: the mean of the others would be another scorer's. A part whose score costs something or may come out
otherwise the next time has a place of its own in the journal, so no part is asked twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from skillopt.agents.base import Attempt
from skillopt.core.aio import gather_all
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.offers import offers
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.scorers.base import Gold, Scorer, ScoresAttempts
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.scoring import ScoreContext, stored_score


class Combination(Scorer):
    """Base of both. Subclasses say what their scorers are and what their scores come to."""

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        """The parts, in order."""
        raise TypeError(f"{type(self).__name__} defines no scorers")

    def combined(self, scores: Sequence[Scored]) -> tuple[float, float]:
        """Hard and soft of the whole."""
        raise TypeError(f"{type(self).__name__} defines no combined()")

    @property
    def leaves(self) -> tuple[Scorer, ...]:
        """The scorers at the bottom, those of inner combinations included."""
        return tuple(leaf for scorer in self.scorers for leaf in scorer.leaves)

    @property
    def needs_judge(self) -> bool:
        """Where one part does."""
        return any(scorer.needs_judge for scorer in self.scorers)

    @property
    def judge_calls(self) -> int:
        """Those of all parts."""
        return sum(scorer.judge_calls for scorer in self.scorers)

    @property
    def needs_gold(self) -> bool:
        """Where one part does."""
        return any(scorer.needs_gold for scorer in self.scorers)

    @property
    def gold_answers(self) -> bool:
        """Where they do for every part."""
        return all(scorer.gold_answers for scorer in self.scorers)

    def judge_texts(self) -> Sequence[str]:
        """Those of all parts."""
        return tuple(text for scorer in self.scorers for text in scorer.judge_texts())

    def told(self) -> str:
        """What the parts say, each once."""
        return " ".join(dict.fromkeys(text for scorer in self.scorers if (text := scorer.told())))

    def check(self, item: Item, gold: Gold) -> None:
        """Every part must be able to judge the item."""
        for scorer in self.scorers:
            scorer.check(item, gold)

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """The parts are stored, so the whole follows from them."""
        return None

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """All parts side by side."""
        outcomes = await gather_all([_part(scorer, answer, gold, attempt, ctx) for scorer in self.scorers])
        names = _names(self.scorers)
        scores: list[Scored] = []
        for name, outcome in zip(names, outcomes, strict=True):
            if not isinstance(outcome, Scored):
                return Missing(f"{name}: {outcome.error if isinstance(outcome, Missing) else 'not scored'}")
            scores.append(outcome)
        hard, soft = self.combined(scores)
        named = list(zip(names, scores, strict=True))
        reasons = [f"{name}: {score.fail_reason}" for name, score in named if score.fail_reason]
        told = [f"{name}: {score.detail[FEEDBACK]}" for name, score in named if score.detail.get(FEEDBACK)]
        parts: list[JsonValue] = [{"name": name, "hard": score.hard, "soft": score.soft} for name, score in named]
        detail: dict[str, JsonValue] = {"parts": parts, **({FEEDBACK: "\n".join(told)} if told else {})}
        return Scored(hard, soft, "" if hard == 1.0 else "; ".join(reasons), answer, detail)


class AllOf(Combination):
    """hard: that of the worst part, so that right means right everywhere; soft: the mean of the parts."""

    name: Literal["all_of"] = "all_of"
    parts: list[SerializeAsAny[Scorer]] = Field(
        min_length=1,
        description="The scorers, each written as a scorer is: a name, or a mapping with name and options.",
    )

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        return tuple(self.parts)

    def combined(self, scores: Sequence[Scored]) -> tuple[float, float]:
        return min(score.hard for score in scores), math.fsum(score.soft for score in scores) / len(scores)

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "parts": [part.identity() for part in self.parts]}

    def looking_beside(self, path: Path) -> AllOf:
        return self.model_copy(update={"parts": [part.looking_beside(path) for part in self.parts]})


class WeightedPart(BaseModel):
    """A scorer and what it counts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    scorer: SerializeAsAny[Scorer] = Field(description="A name, or a mapping with name and options.")
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1.0, description="What it counts beside the others; only the ratio of two weights matters."
    )


class Weighted(Combination):
    """soft: the weighted mean of the parts' soft scores; hard: that of their hard scores, or whether soft reaches
    `passes`."""

    name: Literal["weighted"] = "weighted"
    parts: list[WeightedPart] = Field(min_length=1, description="The scorers, each with its weight.")
    passes: float | None = Field(
        default=None, gt=0, le=1, description="An answer of this weighted mean is right. Null: hard is a mean too."
    )

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        return tuple(part.scorer for part in self.parts)

    def combined(self, scores: Sequence[Scored]) -> tuple[float, float]:
        weights = [part.weight for part in self.parts]
        whole = math.fsum(weights)

        def mean(values: Sequence[float]) -> float:
            return min(1.0, math.fsum(w * v for w, v in zip(weights, values, strict=True)) / whole)

        soft = mean([score.soft for score in scores])
        if self.passes is None:
            return mean([score.hard for score in scores]), soft
        return float(soft >= self.passes), soft

    def identity(self) -> dict[str, Any]:
        parts = [{"scorer": part.scorer.identity(), "weight": part.weight} for part in self.parts]
        return {"name": self.name, "passes": self.passes, "parts": parts}

    def looking_beside(self, path: Path) -> Weighted:
        parts = [part.model_copy(update={"scorer": part.scorer.looking_beside(path)}) for part in self.parts]
        return self.model_copy(update={"parts": parts})


async def _part(scorer: Scorer, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
    """One part's outcome, from the journal where it is stored."""
    if not offers(scorer, ScoresAttempts):
        return scorer.score(answer, item=ctx.rollout.item, gold=gold)
    on = scorer.rests_on(attempt)
    if on is None:
        return await scorer.score_attempt(answer, gold, attempt, ctx)
    who = digest(scorer.identity())[:16]
    return await stored_score(ctx, who, answer, on, lambda: scorer.score_attempt(answer, gold, attempt, ctx))


def _names(scorers: Sequence[Scorer]) -> list[str]:
    """What errors and reasons call the parts: their names, numbered where two have the same."""
    plain = [str(getattr(scorer, "function", "") or getattr(scorer, "name", "")) for scorer in scorers]
    return [name if plain.count(name) == 1 else f"{name} {n}" for n, name in enumerate(plain, start=1)]
