"""The judge of an environment that scores in its own way, asked as a judging scorer is.

The environment's own `score` is called with a labelled answer as the target's whole reply, in the form in which its
gold replies are written. A further draw asks the judge under other numbers, so that no stored verdict stands for it;
the first draw is the one that a run would pay for. Where the environment decides without its judge (an answer that
equals the gold one), that is its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, Env
from skillopt.envs.checks.control import KnowsReplies
from skillopt.envs.judged import judge_calls, judge_texts
from skillopt.envs.scorers.base import Gold
from skillopt.envs.scoring import ScoreContext, score_attempt
from skillopt.model.types import ChatModel, ChatReply, ChatRequest

_APART = 1000
"""More than an environment asks again about one answer."""


@dataclass(frozen=True)
class EnvironmentJudge:
    """See the module. Stands where a `JudgingScorer` stands in a calibration."""

    env: Env

    @property
    def name(self) -> str:
        """The environment's."""
        return self.env.name

    @property
    def passes(self) -> float:
        """From which score an answer is right."""
        return self.env.pass_threshold

    @property
    def repeats(self) -> int:
        """The environment repeats what it repeats; a draw is one score of it."""
        return 1

    @property
    def judge_calls(self) -> int:
        """Calls for one answer, re-asks apart."""
        return judge_calls(self.env)

    def judge_texts(self) -> Sequence[str]:
        """What the judge is told."""
        return judge_texts(self.env)

    def identity(self) -> dict[str, Any]:
        """The environment with everything that can change a score."""
        return {"name": self.env.name, "version": self.env.version}

    async def judged(self, answer: str, gold: Gold, ctx: ScoreContext, *, first: int = 0) -> Outcome:
        """What the environment says of an answer."""
        del gold
        judge = ctx.scoring.judge
        drawn = _Drawn(judge, first * _APART) if judge is not None and first else judge
        asked = replace(ctx, scoring=replace(ctx.scoring, judge=drawn, journal=None))
        attempt = Attempt(text=self._reply(answer, asked))
        return await score_attempt(self.env, ctx.rollout.item, attempt, asked)

    def _reply(self, answer: str, ctx: ScoreContext) -> str:
        """The answer where the environment looks for one."""
        item = ctx.rollout.item
        golden = self.env.gold_reply(item) if offers(self.env, KnowsReplies) else None
        gold = next((text for text in self.env.golds(item) if golden and golden.count(text) == 1), "")
        if not golden or not gold or golden == gold:
            return answer
        before, _, after = golden.partition(gold)
        return answer if before.strip() in answer and after.strip() in answer else f"{before}{answer}{after}"


@dataclass(frozen=True)
class _Drawn:
    """A model whose questions are numbered from `first` on."""

    inner: ChatModel
    first: int

    @property
    def model(self) -> str:
        return self.inner.model

    async def chat(self, request: ChatRequest) -> ChatReply:
        return await self.inner.chat(replace(request, repeat=request.repeat + self.first))
