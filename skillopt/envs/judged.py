"""Environments whose scores come from a judge: that they need one, how often they ask, what they tell it.

What a judge is told must not be copied into a skill: one that repeats the rubric wins its judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from skillopt.core.offers import offers


@runtime_checkable
class Judged(Protocol):
    """Optional part of an environment. A skill that repeats the rubric wins its judge over without solving anything."""

    def judge_texts(self) -> Sequence[str]:
        """Rubrics and instructions of the judge, those of single items included. Called after `load`."""
        ...


def judge_texts(env: object) -> list[str]:
    """What the judge of an environment is told; empty where there is no judge."""
    return list(env.judge_texts()) if offers(env, Judged) else []


def needs_judge(env: object) -> bool:
    """Whether an environment asks a judge model (attribute `needs_judge`)."""
    return bool(getattr(env, "needs_judge", False))


def judge_calls(env: object) -> int:
    """How often the judge is asked about one attempt (attribute `judge_calls`, 1 where an environment names none)."""
    return int(getattr(env, "judge_calls", 1)) if needs_judge(env) else 0
