"""A judge compares the answer with the reference answer, in both orders: `{name: pairwise, text: "what is better"}`.

Each comparison is a win (1), a tie (0.5) or a loss (0); soft is the mean over both orders and all repeats, so a judge
that always prefers the first scores 0.5 and shows in `detail["position"]`. Hard is whether soft reaches `passes`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import as_object
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.scorers.judging import JudgingScorer, Question, blocks
from skillopt.envs.scoring import ScoreContext
from skillopt.envs.templates import Template

_SYSTEM = "prompts/pairwise_system.md"


class Pairwise(JudgingScorer):
    """Ask a judge which of two answers is better. Use it where grades drift and a good reference answer exists."""

    name: Literal["pairwise"] = "pairwise"
    text: str = Field(min_length=1, description="What makes an answer better.")
    passes: float = Field(
        default=0.5, gt=0, le=1, description="Share of wins (ties count half) from which an answer is right."
    )

    @property
    def judge_calls(self) -> int:
        """Both orders, each repeated."""
        return 2 * self.repeats

    def judge_texts(self) -> Sequence[str]:
        """The instruction."""
        return (self.text,)

    def identity(self) -> dict[str, Any]:
        """Options and prompt."""
        return {**self.model_dump(mode="json"), "prompt": Template.beside(__file__, _SYSTEM).digest}

    async def judged(self, answer: str, gold: Gold, ctx: ScoreContext, *, first: int = 0) -> Outcome:
        """Ask the judge in both orders. An empty answer is not put to it: it loses."""
        if not answer.strip():
            return Scored(0.0, 0.0, fail_reason="the answer is empty")
        system = Template.beside(__file__, _SYSTEM).render({"text": self.text.strip()}).strip()
        reference = "\n".join(gold.texts[:1])

        def question(first: str, second: str, ours: str) -> Question[tuple[float, str, str]]:
            user = blocks(task=ctx.task) + f"\n\n{blocks(A=first, B=second)}"
            return Question(system, user.strip(), _CHOICE, lambda raw: read_choice(raw, ours))

        asked = await self.ask(ctx, [question(answer, reference, "A"), question(reference, answer, "B")], first=first)
        if isinstance(asked, Missing):
            return asked
        sides = {ours for _, _, ours in asked}
        if len(sides) < 2:
            return Missing("the judge gave no verdict in one of the two orders")
        means = {side: _mean([won for won, _, ours in asked if ours == side]) for side in ("A", "B")}
        soft = (means["A"] + means["B"]) / 2
        hard = float(soft >= self.passes)
        why = "" if hard else f"wins {soft:.2f} of the comparisons with the reference, {self.passes:g} is right"
        reasons = " / ".join(reason for _, reason, _ in asked)
        return Scored(hard, soft, why, answer, {FEEDBACK: reasons, "position": means["A"] - means["B"]})


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_CHOICE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "better": {"enum": ["A", "B", "tie"]}},
    "required": ["reason", "better"],
    "additionalProperties": False,
}


def read_choice(raw: object, ours: str) -> tuple[float, str, str]:
    """(1, 0.5 or 0 for our answer, the reason, which one was ours). Raises `ReplyError`."""
    row = as_object(raw)
    better = str(row.get("better"))
    if better not in ("A", "B", "tie"):
        raise ReplyError(f'"better" must be "A", "B" or "tie", got {row.get("better")!r}')
    won = 0.5 if better == "tie" else float(better == ours)
    return won, str(row.get("reason") or ""), ours
