"""What the scorers that ask a judge share: the request, the repeats, and what becomes of a judge without a verdict.

Instructions come first and are the same for every item (prefix caching); task, answer and reference follow, fenced. A
reply that cannot be read is asked again once. A verdict that stays away is no verdict: where not more than half of the
asked ones came, the outcome is `Missing`, never a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import Field

from skillopt.agents.base import Attempt
from skillopt.core.aio import gather_all
from skillopt.core.fencing import fenced
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing, Outcome
from skillopt.envs.scorers.base import Gold, Scorer, shorten
from skillopt.envs.scoring import ScoreContext
from skillopt.model.replies import ask_json
from skillopt.model.types import ChatRequest, Message

V = TypeVar("V")


@dataclass(frozen=True)
class Question(Generic[V]):
    """One question to the judge and how its reply is read; `read` raises `ReplyError` for what is no verdict."""

    system: str
    user: str
    schema: Mapping[str, Any]
    read: Callable[[object], V]


def blocks(**texts: str) -> str:
    """Fenced texts under their names: `blocks(task="…", answer="…")`. Blank ones are left out."""
    return "\n\n".join(f"{name.capitalize()}:\n{fenced(text, name)}" for name, text in texts.items() if text.strip())


class AsksJudge(Protocol):
    """What a calibration asks of a judging scorer, or of an environment that has a judge of its own."""

    @property
    def repeats(self) -> int: ...

    @property
    def judge_calls(self) -> int: ...

    def judge_texts(self) -> Sequence[str]: ...

    def identity(self) -> dict[str, Any]: ...

    async def judged(self, answer: str, gold: Gold, ctx: ScoreContext, *, first: int = 0) -> Outcome: ...


class JudgingScorer(Scorer):
    """Base of the scorers that ask a judge."""

    repeats: int = Field(default=1, ge=1, le=15, description="How often each question is asked; the mean counts.")
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="Sampling temperature of the judge; null leaves it to the backend."
    )
    max_completion_tokens: int = Field(default=4000, ge=100, description="Most tokens that a verdict may have.")

    @property
    def needs_judge(self) -> bool:
        """It is one."""
        return True

    @property
    def judge_calls(self) -> int:
        """Each question as often as it is repeated."""
        return self.repeats

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Ask the judge about the answer of an attempt."""
        return await self.judged(answer, gold, ctx)

    async def judged(self, answer: str, gold: Gold, ctx: ScoreContext, *, first: int = 0) -> Outcome:
        """Ask the judge about an answer. `first` numbers the first repeat: another number is another draw."""
        raise TypeError(f"{type(self).__name__} defines no judged()")

    def rests_on(self, attempt: object) -> JsonValue:
        """The judge's calls are stored, so a score follows from them without being stored itself."""
        return None

    async def ask(self, ctx: ScoreContext, questions: Sequence[Question[V]], *, first: int = 0) -> list[V] | Missing:
        """All questions, each `repeats` times, side by side: the verdicts that came, in order."""
        asked = [(question, first + k) for question in questions for k in range(self.repeats)]
        replies = await gather_all([self._verdict(ctx, question, k) for question, k in asked])
        verdicts = [value for value, _ in replies if value is not None]
        if len(verdicts) * 2 <= len(asked):
            return Missing(f"the judge gave no verdict: {next(why for value, why in replies if value is None)}")
        return verdicts

    async def _verdict(self, ctx: ScoreContext, question: Question[V], repeat: int) -> tuple[V | None, str]:
        request = ChatRequest(
            messages=(Message("system", question.system), Message("user", question.user)),
            stage=ctx.stage,
            max_completion_tokens=self.max_completion_tokens,
            temperature=self.temperature,
            schema=question.schema,
            schema_name="verdict",
            repeat=repeat,
            priority=ctx.priority,
        )
        read = await ask_json(ctx.judge, request, question.read)
        return read.value, shorten(read.dropped)
