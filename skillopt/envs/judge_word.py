"""What benchmarks with a one-word judge share: the keys, the instructions beside the environment, the score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scorers.verdicts import OneWordJudge, truth
from skillopt.envs.scoring import ScoreContext

JUDGED, COMPARED = "judge", "equality"


class JudgeSettings(BaseModel):
    """Keys of the judge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge_attempts: int = Field(
        default=5, ge=1, le=20, description="How often a judge without a verdict is asked before the item is missing."
    )
    judge_max_tokens: int = Field(default=256, ge=8, description="Most tokens that a judge's reply may have.")


def instructions(module_file: str) -> str:
    """`prompts/judge_system.md` beside an environment's module."""
    return (Path(module_file).parent / "prompts/judge_system.md").read_text(encoding="utf-8").strip()


def truth_judge(module_file: str, settings: JudgeSettings) -> OneWordJudge:
    """A judge that says True or False."""
    return OneWordJudge(instructions(module_file), truth, settings.judge_attempts, settings.judge_max_tokens)


def compared(right: bool, answer: str, golds: Sequence[str]) -> Scored:
    """The score of an answer that needed no judge."""
    reason = "" if right else f"answered {shorten(answer)!r}, expected {shorten(' | '.join(golds))!r}"
    return Scored(float(right), float(right), reason, answer, {"scorer": COMPARED})


async def judged(judge: OneWordJudge, ctx: ScoreContext, item: Item, task: str, answer: str, gold: str) -> Outcome:
    """The judge's True as 1. An empty answer is not put to it."""
    if not answer.strip():
        return Scored(0.0, 0.0, "the reply holds no answer", "", {"scorer": JUDGED})
    del item
    verdict = await judge.verdict(ctx, task=task, reference=gold, answer=answer)
    if isinstance(verdict, Missing):
        return verdict
    hit = float(verdict == "True")
    reason = "" if hit else f"the judge says that {shorten(answer)!r} is not {shorten(gold)!r}"
    return Scored(hit, hit, reason, answer, {"scorer": JUDGED, "judge": verdict})
