"""Scoring one answer by itself, for checks and tests: `await scored(env, item, "<answer>5</answer>")`."""

from __future__ import annotations

from skillopt.agents.base import Attempt
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.base import Env
from skillopt.envs.scoring import UNAIDED, ScoreContext, Scoring, score_attempt


async def outcome(env: Env, item: Item, answer: str | Attempt, scoring: Scoring = UNAIDED) -> Outcome:
    """What a run would make of an answer (a final text, or a whole attempt)."""
    attempt = Attempt(text=answer) if isinstance(answer, str) else answer
    rollout = Rollout(item, "", Pending(), trajectory=attempt.trajectory)
    return await score_attempt(env, item, attempt, ScoreContext(rollout, "eval", scoring=scoring))


async def scored(env: Env, item: Item, answer: str | Attempt, scoring: Scoring = UNAIDED) -> Scored:
    """As `outcome`, for a score that must be there. Raises `AssertionError` with the reason where it is missing."""
    found = await outcome(env, item, answer, scoring)
    if not isinstance(found, Scored):
        raise AssertionError(found.error if isinstance(found, Missing) else "not scored")
    return found
