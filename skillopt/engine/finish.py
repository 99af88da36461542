"""The end of a run: the sealed test, the summary, the verdict in one sentence.

Test items are read here and nowhere else (invariant I5), each text once: the initial skill and the best one. A test
that could not be measured leaves nulls with a reason and never prevents the summary.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.aio import gather_all
from skillopt.core.errors import BudgetExceeded, Interrupted, PatienceOver, StopRun
from skillopt.core.item import Item
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.closing import FOLDER, close
from skillopt.engine.acceptance.ending import reading_of
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.charging import all_charged
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.spending.bill import write_logs
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.stages.record import write_products, write_state
from skillopt.engine.state import TrainState
from skillopt.engine.summary.build import Ending, build_summary
from skillopt.engine.summary.scores import type_scores
from skillopt.engine.summary.verdict import in_full
from skillopt.engine.test_reserve import open_the_end
from skillopt.envs.views import write_rollout_dir
from skillopt.gate.metric import Metric
from skillopt.model.types import Usage
from skillopt.optimizer.context import Tally
from skillopt.records.beside.label_table import label_tables
from skillopt.records.codec import encode
from skillopt.records.events import RunEnd
from skillopt.records.items import readable_name
from skillopt.records.schema import Summary, TokenCount
from skillopt.records.vocabulary import Stage
from skillopt.report.report import render_report
from skillopt.store.atomic import write_json

ENDINGS = (FOLDER, "test_eval_baseline", "test_eval", "test_eval_final")
"""Directories that the end of a run writes, each only where it applies."""


@dataclass(frozen=True)
class RunResult:
    """What a run comes to. `stopped` says why it ended early, None when it did not; `stopped_by` is then `patience`,
    `budget` (both were asked for), `interrupt` or `fault`."""

    summary: Summary
    best_skill_path: Path
    stopped: str | None
    stopped_by: str | None = None


def kind_of(stop: StopRun | None) -> str | None:
    """Who stopped a run."""
    if stop is None:
        return None
    kinds = ((PatienceOver, "patience"), (BudgetExceeded, "budget"), (Interrupted, "interrupt"))
    return next((word for kind, word in kinds if isinstance(stop, kind)), "fault")


async def finish(
    rule: AcceptanceRule,
    context: RunContext,
    state: TrainState,
    total_steps: int,
    tally: Tally,
    *,
    stopped: StopRun | None,
    test: bool = True,
) -> RunResult:
    """Let the rule decide about what is open, run the sealed test, write summary and report.

    `test` is False when the run ended before its initial skill was measured: there is nothing to compare then.
    """
    for name in ENDINGS:  # of an earlier end of this run, whose skills may be others
        await asyncio.to_thread(context.run_dir.remove, name)
    open_the_end(rule, context, state)
    closed = await close(rule, state, context, tally)
    context.budget.set_aside(Spend())
    state, reading = closed.state, 1
    tests: dict[str, list[Rollout]] = {}
    why_not = str(stopped) if stopped else ""
    if test:
        tests, why_not, lost = await sealed_test(context, state, tally)
        reading = reading_of(context, [context.initial, state.best.skill, state.current.skill]) if tests else 1
        stopped = stopped or lost  # a run that could not be tested did not end in full: the last line says so
    for record in (*state.history, *state.memory.results):
        _add(tally, record.tokens)
    why = str(stopped) if stopped else None
    summary = build_summary(context, Ending(state, total_steps, tally, tests, why, why_not, closed.draft))
    summary = replace(
        summary,
        last_look=closed.last,
        unproven_draft=closed.draft.hash if closed.draft else None,
        test_reading=reading,
        verdict=in_full(summary.verdict, closed.last, closed.draft, reading),
    )
    await asyncio.to_thread(_write, context, state, summary, closed.draft)
    context.budget.tell()
    outcome = "done" if stopped is None else "stopped"
    context.emit(RunEnd(outcome=outcome, reason=why or "", summary=summary))
    return RunResult(summary, context.run_dir.root / "best_skill.md", why, kind_of(stopped))


async def sealed_test(
    context: RunContext, state: TrainState, tally: Tally
) -> tuple[dict[str, list[Rollout]], str, StopRun | None]:
    """Roll out initial, best and final skill on the test split, side by side, each text once.

    Returns the rollouts by directory, why there are none, and the fault that prevented them.
    """
    if not context.config.evaluation.eval_test:
        return {}, "the test was switched off (evaluation.eval_test)", None
    names = {"test_eval_baseline": context.initial, "test_eval": state.best.skill,
             "test_eval_final": state.current.skill}  # fmt: skip
    texts: dict[str, Skill] = {skill.hash: skill for skill in names.values()}
    try:
        with staged(context, Stage.TEST, total=len(context.test) * len(texts)) as told:
            if context.before_test is not None:
                await context.before_test()
            done = await gather_all([measure(context, s, context.test, stage=Stage.TEST) for s in texts.values()])
            initial = dict(zip(texts, done, strict=True))[context.initial.hash]
            done = [all_charged(rollouts, initial) for rollouts in done]
            best = dict(zip(texts, done, strict=True))[state.best.skill.hash]
            told.measured(compute_score(r.outcome for r in best))
    except StopRun as error:
        return {}, f"the sealed test could not be measured: {error}", error
    by_hash = dict(zip(texts, done, strict=True))
    for rollouts in done:
        count_rollouts(tally, Stage.TEST, rollouts)
    results = {name: by_hash[skill.hash] for name, skill in names.items()}
    for name, rollouts in results.items():
        if name != "test_eval_final" or state.current.skill != state.best.skill:
            await asyncio.to_thread(_write_test, context.run_dir.root / name, rollouts, context.metric)
    return results, "", None


def _write_test(path: Path, rollouts: Sequence[Rollout], metric: Metric) -> None:
    write_rollout_dir(path, list(rollouts))
    write_json(path / "summary.json", encode(type_scores(rollouts, metric)))


def _question(item: Item) -> str:
    question = item.data.get("question")
    return question if isinstance(question, str) else ""


def _add(tally: Tally, stages: Mapping[str, TokenCount]) -> None:
    for stage, row in stages.items():
        usage = Usage(prompt_tokens=row.prompt_tokens, completion_tokens=row.completion_tokens)
        tally.add(stage, usage, row.calls)


def _write(context: RunContext, state: TrainState, summary: Summary, draft: Skill | None) -> None:
    run_dir = context.run_dir
    write_state(context, state)  # a run that took no step has a history too
    write_products(context, state, draft)
    run_dir.write("summary.json", summary.to_json())
    names = {item.id: readable_name(item.id, _question(item)) for item in context.test}
    report = render_report(summary, state.history, context.initial.text, state.best.skill.text, names,
                           label_tables(run_dir.root))  # fmt: skip
    run_dir.write("report.md", report)
    write_logs(context)
