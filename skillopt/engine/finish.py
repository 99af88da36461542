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
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.closing import FOLDER, close
from skillopt.engine.acceptance.ending import reading_of
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.measure import measure
from skillopt.engine.run.bill import cost_of, write_logs
from skillopt.engine.run.budget import Spend
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.stages import staged
from skillopt.engine.run.targets import reading_notices, readings
from skillopt.engine.state import TrainState
from skillopt.engine.step_record import write_products, write_state
from skillopt.engine.summary import in_full, paired_summary, per_point, score_summary, type_scores, verdict_sentence
from skillopt.engine.test_reserve import open_the_end
from skillopt.envs.views import write_rollout_dir
from skillopt.model.types import Usage
from skillopt.optimizer.context import Tally
from skillopt.records.codec import encode
from skillopt.records.events import RunEnd
from skillopt.records.schema import (
    RECORD_VERSION,
    CostSummary,
    EpochEnd,
    EpochRecord,
    EpochStats,
    RoleCost,
    ScoreSummary,
    StepRecord,
    Summary,
    TokenCount,
    TokenTotal,
)
from skillopt.records.vocabulary import Action, Stage, role_of
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
    summary = build_summary(
        context, state, total_steps, tally, tests, stopped=str(stopped) if stopped else None, why_not=why_not
    )
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
    context.emit(RunEnd(outcome=outcome, reason=str(stopped) if stopped else "", summary=summary))
    return RunResult(
        summary, context.run_dir.root / "best_skill.md", str(stopped) if stopped else None, kind_of(stopped)
    )


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
            best = dict(zip(texts, done, strict=True))[state.best.skill.hash]
            told.measured(compute_score(r.outcome for r in best))
    except StopRun as error:
        return {}, f"the sealed test could not be measured: {error}", error
    by_hash = dict(zip(texts, done, strict=True))
    for rollouts in done:
        count_rollouts(tally, "test", rollouts)
    results = {name: by_hash[skill.hash] for name, skill in names.items()}
    for name, rollouts in results.items():
        if name != "test_eval_final" or state.current.skill != state.best.skill:
            await asyncio.to_thread(_write_test, context.run_dir.root / name, rollouts)
    return results, "", None


def _write_test(path: Path, rollouts: Sequence[Rollout]) -> None:
    write_rollout_dir(path, list(rollouts))
    write_json(path / "summary.json", encode(type_scores(rollouts)))


def _add(tally: Tally, stages: Mapping[str, TokenCount]) -> None:
    for stage, row in stages.items():
        usage = Usage(prompt_tokens=row.prompt_tokens, completion_tokens=row.completion_tokens)
        tally.add(stage, usage, row.calls)


def _epochs(history: Sequence[StepRecord], ends: Sequence[EpochRecord]) -> tuple[EpochStats, ...]:
    """A row an epoch. `ends` are the results of epoch ends: what they decided, and the scores after them."""
    rows: list[EpochStats] = []
    for epoch in sorted({r.epoch for r in history}):
        records = [r for r in history if r.epoch == epoch]
        after = [r for r in ends if r.epoch == epoch]
        last = after[-1] if after else records[-1]
        found = {r.stage: r.gate.action for r in after}
        counts = _counts(records)
        rows.append(
            EpochStats(
                epoch=epoch,
                steps=len(records),
                accepts=counts.accepts,
                rejects=counts.rejects,
                skips=counts.skips,
                drafts=counts.drafts,
                undecided=counts.undecided,
                draft_review=found.get(Stage.DRAFT_REVIEW),
                slow_update=found.get(Stage.SLOW_UPDATE),
                meta_skill=found.get(Stage.META_SKILL),
                meta_reflect=found.get(Stage.META_REFLECT),
                best_score_at_epoch_end=last.best_score,
                current_score_at_epoch_end=last.current_score,
            )
        )
    return tuple(rows)


@dataclass(frozen=True)
class _Counts:
    """What became of the candidates of steps."""

    accepts: int
    rejects: int
    skips: int
    drafts: int
    undecided: int


def _counts(records: Sequence[StepRecord]) -> _Counts:
    actions = [r.gate.action for r in records]
    return _Counts(
        accepts=sum(a.proven or a is Action.FORCE_ACCEPT for a in actions),
        rejects=actions.count(Action.REJECT),
        skips=sum(a.skipped for a in actions),
        drafts=actions.count(Action.DRAFT),
        undecided=actions.count(Action.UNDECIDED),
    )


def build_summary(
    context: RunContext,
    state: TrainState,
    total_steps: int,
    tally: Tally,
    tests: Mapping[str, Sequence[Rollout]],
    *,
    stopped: str | None,
    why_not: str,
) -> Summary:
    """`summary.json` (artifacts §5); no clock value is in it."""
    first = state.initial.score
    best, current = state.best.score, state.current.score
    base, test, final = (score_summary(tests.get(name), why_not, context.metric) for name in
                         ("test_eval_baseline", "test_eval", "test_eval_final"))  # fmt: skip
    changed = state.best.skill != context.initial
    comparison = (
        paired_summary(tests.get("test_eval_baseline"), tests.get("test_eval"), context.metric) if changed else None
    )
    tokens, counts = token_totals(tally.stages), _counts(state.history)
    spent = cost_of(context, tally.stages)
    return Summary(
        version=RECORD_VERSION,
        baseline_selection_hard=first.hard if first else None,
        best_selection_hard=best.hard if best else None,
        best_gate_score=state.best.gate_score,
        final_selection_hard=current.hard if current else None,
        final_selection_soft=current.soft if current else None,
        baseline_selection=score_summary(state.initial.rollouts, why_not, context.metric),
        best_selection=score_summary(state.best.rollouts, why_not, context.metric),
        selection=score_summary(state.current.rollouts, why_not, context.metric),
        best_step=state.best_step,
        current_origin=state.current_origin,
        best_origin=state.best_origin,
        initial_skill_hash=context.initial.hash,
        best_skill_hash=state.best.skill.hash,
        planned_steps=total_steps,
        total_steps=len(state.history),
        total_accepts=counts.accepts,
        total_rejects=counts.rejects,
        total_skips=counts.skips,
        total_drafts=counts.drafts,
        total_undecided=counts.undecided,
        epoch_stats=_epochs(state.history, state.memory.results),
        epoch_ends=tuple(map(EpochEnd.of, state.memory.results)),
        baseline_test_hard=base.hard,
        baseline_test_soft=base.soft,
        test_hard=test.hard,
        test_soft=test.soft,
        final_test_hard=final.hard,
        final_test_soft=final.soft,
        test_delta_hard=_delta(base, test),
        final_test_delta_hard=_delta(base, final),
        baseline_test=base,
        test=test,
        final_test=final,
        test_by_task_type={name: type_scores(rollouts) for name, rollouts in tests.items()},
        paired=comparison,
        verdict=verdict_sentence(context, state, comparison, why_not),
        stopped=stopped,
        notices=(*context.notices, *reading_notices(readings(context.journal))),
        token_summary=tokens,
        cost_per_point=per_point(comparison, tokens["_total"].total_tokens, spent),
        cost=CostSummary(
            usd=spent, by_role=_money(context, tally), note="list price of the calls this result rests on"
        ),
        models=_models(context),
        seed=context.config.train.seed,
    )


def token_totals(stages: Mapping[str, Mapping[str, int | None]]) -> dict[str, TokenTotal]:
    """Every stage with the sum of its tokens, and all stages under `_total`; unknown (None) as soon as a part is."""
    whole = Tally()
    for stage in stages.values():
        usage = Usage(prompt_tokens=stage["prompt_tokens"], completion_tokens=stage["completion_tokens"])
        whole.add("_total", usage, stage["calls"] or 0)
    rows = {"_total": {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}, **whole.stages}
    return {stage: _with_total(row) for stage, row in {**stages, **rows}.items()}


def _with_total(row: Mapping[str, int | None]) -> TokenTotal:
    prompt, completion = row["prompt_tokens"], row["completion_tokens"]
    total = None if prompt is None or completion is None else prompt + completion
    return TokenTotal(row["calls"] or 0, prompt, completion, total)


def _models(context: RunContext) -> dict[str, str]:
    """The model of each role."""
    judge = {"judge": context.judge.model} if context.judge else {}
    return {"target": context.target.model, "optimizer": context.optimizer.model, **judge}


def _money(context: RunContext, tally: Tally) -> dict[str, RoleCost]:
    """Model and list price of each role's calls."""
    return {
        role: RoleCost(
            model=model,
            usd=cost_of(context, {stage: row for stage, row in tally.stages.items() if role_of(stage) == role}),
        )
        for role, model in _models(context).items()
    }


def _delta(before: ScoreSummary, after: ScoreSummary) -> float | None:
    return None if before.hard is None or after.hard is None else after.hard - before.hard


def _write(context: RunContext, state: TrainState, summary: Summary, draft: Skill | None) -> None:
    run_dir = context.run_dir
    write_state(context, state)  # a run that took no step has a history too
    write_products(context, state, draft)
    run_dir.write("summary.json", summary.to_json())
    report = render_report(summary, state.history, context.initial.text, state.best.skill.text)
    run_dir.write("report.md", report)
    write_logs(context)
