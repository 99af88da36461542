"""Environments whose scores come from a judge say what the judge is told, so that no skill can repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from skillopt.envs.base import Env


@runtime_checkable
class Judged(Protocol):
    """Optional part of an environment. A skill that repeats the rubric wins its judge over without solving anything."""

    def judge_texts(self) -> Sequence[str]:
        """Rubrics and instructions of the judge, those of single items included. Called after `load`."""
        ...


def judge_texts(env: Env) -> list[str]:
    """What the judge of an environment is told; empty where there is no judge."""
    return list(env.judge_texts()) if isinstance(env, Judged) else []
