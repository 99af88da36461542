"""Evaluating one skill on whole splits: a table for each split, never one mixed score."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.core.errors import DataError
from skillopt.core.item import SPLIT_ALIASES, SPLITS
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.bill import cost_of, write_logs
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.summary import split_summary, task_table
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.store.atomic import write_json


def split_names(asked: str) -> tuple[str, ...]:
    """Canonical names of a split or of `all`. Raises `DataError` for an unknown one."""
    if asked == "all":
        return SPLITS
    if asked not in SPLIT_ALIASES:
        raise DataError(f"unknown split {asked!r}", hint=f"choose one of {', '.join(SPLIT_ALIASES)}, all")
    return (SPLIT_ALIASES[asked],)


@dataclass(frozen=True)
class Evaluated:
    """`eval_summary.json`, and what it was made from: the rollouts by split, repeats included."""

    summary: dict[str, Any]
    rollouts: dict[str, list[Rollout]]


async def evaluate(context: RunContext, skill: Skill, splits: Sequence[str]) -> Evaluated:
    """Roll out a skill on the given canonical splits; writes `eval_summary.json` and a directory a split.

    A directory that holds another skill's evaluation keeps its journal; its views are those of the last skill.
    """
    tally = Tally()
    repeats = context.config.evaluation.repeats
    results: dict[str, list[Rollout]] = {}
    for name in splits:
        items = context.splits.named(name)
        context.emit("stage.start", stage="eval", step=None, split=name, total=len(items) * repeats)
        with context.timings.measure(None, f"eval_{name}"):
            results[name] = await measure(context, skill, items, stage="eval", repeats=repeats)
        count_rollouts(tally, "eval", results[name])
    per_split = {
        name: {**split_summary(rollouts), "n_items": len(context.splits.named(name)), "repeats": repeats,
               "by_task_type": task_table(rollouts)}
        for name, rollouts in results.items()
    }  # fmt: skip
    summary: dict[str, Any] = {
        "skill": skill.hash,
        "skill_chars": len(skill.text),
        "env": context.env.name,
        "model": context.target.model,
        "split": splits[0] if len(splits) == 1 else "all",
        "splits": per_split,
        "tokens": tally.stages,
        "cost": cost_of(context, tally.stages),
    }
    if len(splits) == 1:
        summary |= {k: per_split[splits[0]][k] for k in ("n_items", "hard", "soft", "n", "coverage", "interval")}
    await asyncio.to_thread(_write, context, skill, results, summary)
    context.emit("eval.end", summary=summary)
    return Evaluated(summary, results)


def _write(context: RunContext, skill: Skill, results: dict[str, list[Rollout]], summary: dict[str, Any]) -> None:
    root = context.run_dir.root
    for name, rollouts in results.items():
        first = [r for r in rollouts if r.repeat == 0]
        write_rollout_dir(root / name if len(results) > 1 else root, first)
    context.run_dir.write("skill.md", skill.text)
    write_json(root / "eval_summary.json", summary)
    write_logs(context)
