"""Evaluating one skill on whole splits: a table for each split, never one mixed score."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.errors import DataError
from skillopt.core.item import SPLIT_ALIASES, SPLITS
from skillopt.core.offers import offers
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.spending.bill import cost_of, write_logs
from skillopt.engine.run.targets import reading_notices
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.signal import literal_invocation
from skillopt.engine.summary.scores import score_summary, type_scores
from skillopt.envs.base import ListsSkills
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.records.beside.evaluation import EvalSummary, SplitScore
from skillopt.records.beside.label_table import table_of
from skillopt.records.events import EvalEnd, Notice
from skillopt.records.schema import token_counts
from skillopt.records.vocabulary import Stage
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

    summary: EvalSummary
    rollouts: dict[str, list[Rollout]]


async def evaluate(context: RunContext, skill: Skill, splits: Sequence[str], *, name: str = "") -> Evaluated:
    """Roll out a skill on the given canonical splits; writes `eval_summary.json` and a directory a split. `name` is
    what observers are told of one among several skills.

    A directory that holds another skill's evaluation keeps its journal; its views are those of the last skill.
    """
    tally = Tally()
    repeats = context.config.evaluation.repeats
    results: dict[str, list[Rollout]] = {}
    await literal_invocation(context, skill)
    for split in splits:
        items = context.splits.named(split)
        with staged(context, Stage.EVAL, total=len(items) * repeats, label=split, clock=f"eval_{split}") as told:
            results[split] = await measure(context, skill, items, stage=Stage.EVAL, repeats=repeats)
            told.measured(compute_score(r.outcome for r in results[split]))
        count_rollouts(tally, Stage.EVAL, results[split])
    summary = _summary(context, skill, results, tally)
    every = [rollout for rollouts in results.values() for rollout in rollouts]
    seen = [] if offers(context.env, ListsSkills) else [r.agent["skill_read"] for r in every if "skill_read" in r.agent]
    summary = replace(summary, notices=tuple(reading_notices(seen)))
    for text in summary.notices:
        context.emit(Notice(text=f"warning: {text}"))
    await asyncio.to_thread(_write, context, skill, results, summary)
    context.emit(EvalEnd(skill=name, summary=summary))
    return Evaluated(summary, results)


def _summary(context: RunContext, skill: Skill, results: Mapping[str, list[Rollout]], tally: Tally) -> EvalSummary:
    scores = {name: _split_score(context, name, rollouts) for name, rollouts in results.items()}
    whole = EvalSummary(
        skill=skill.hash,
        skill_chars=len(skill.text),
        env=context.env.name,
        model=context.target.model,
        split="all",
        splits=scores,
        tokens=token_counts(tally.stages),
        cost=cost_of(context, tally.stages),
        metric=context.metric.name,
    )
    if len(scores) != 1:
        return whole
    ((name, one),) = scores.items()
    return replace(
        whole, split=name, n_items=one.n_items, hard=one.hard, soft=one.soft, n=one.n, coverage=one.coverage,
        interval=one.interval, metric=one.metric, value=one.value,
    )  # fmt: skip


def _split_score(context: RunContext, name: str, rollouts: Sequence[Rollout]) -> SplitScore:
    found = score_summary(rollouts, metric=context.metric)
    labels = table_of(r.scored.detail for r in rollouts if r.scored is not None)
    return SplitScore(
        hard=found.hard, soft=found.soft, n=found.n, total=found.total, coverage=found.coverage,
        interval=found.interval, reason=found.reason, metric=found.metric, value=found.value,
        n_items=len(context.splits.named(name)), repeats=context.config.evaluation.repeats,
        by_task_type=type_scores(rollouts, context.metric), labels=labels.scores if labels is not None else None,
    )  # fmt: skip


def _write(context: RunContext, skill: Skill, results: Mapping[str, list[Rollout]], summary: EvalSummary) -> None:
    root = context.run_dir.root
    for name, rollouts in results.items():
        first = [r for r in rollouts if r.repeat == 0]
        write_rollout_dir(root / name if len(results) > 1 else root, first)
    context.run_dir.write("skill.md", skill.text)
    write_json(root / "eval_summary.json", summary.to_json())
    write_logs(context)
