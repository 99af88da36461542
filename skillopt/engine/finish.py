"""The end of a run: the sealed test, the summary, the verdict in one sentence.

Test items are read here and nowhere else (invariant I5), each text once: the initial skill and the best one. A test
that could not be measured leaves nulls with a reason and never prevents the summary.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.errors import BudgetExceeded, Interrupted, PatienceOver, StopRun
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.decide import count, tell
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.measure import measure
from skillopt.engine.run.bill import TARGET_STAGES, cost_of, write_logs
from skillopt.engine.run.context import JUDGED, RunContext, count_rollouts
from skillopt.engine.run.targets import reading_notices
from skillopt.engine.state import TrainState
from skillopt.engine.summary import paired, per_point, split_summary, task_table, verdict_sentence
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.records.codec import encode
from skillopt.records.schema import EpochEnd, EpochRecord, StepRecord, Summary
from skillopt.report.report import render_report
from skillopt.store.atomic import write_json

VERSION = 1
ENDINGS = ("final_selection_eval", "test_eval_baseline", "test_eval", "test_eval_final")
"""Directories that the end of a run writes, each only where it applies."""


@dataclass(frozen=True)
class RunResult:
    """What a run comes to. `stopped` says why it ended early, None when it did not; `stopped_by` is then `patience`,
    `budget` (both were asked for), `interrupt` or `fault`."""

    summary: Mapping[str, Any]
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
    state, last = await final_selection(rule, context, state, tally)
    tests: dict[str, list[Rollout]] = {}
    why_not = str(stopped) if stopped else ""
    if test:
        tests, why_not, lost = await sealed_test(context, state, tally)
        stopped = stopped or lost  # a run that could not be tested did not end in full: the last line says so
    for record in (*state.history, *state.memory.results):
        _add(tally, record["tokens"])
    summary = build_summary(
        context, state, total_steps, tally, tests, stopped=str(stopped) if stopped else None, why_not=why_not
    )
    if last is not None:
        summary["last_look"] = last
    await asyncio.to_thread(_write, context, state, summary)
    context.emit("run.end", summary=summary)
    return RunResult(
        summary, context.run_dir.root / "best_skill.md", str(stopped) if stopped else None, kind_of(stopped)
    )


async def final_selection(
    rule: AcceptanceRule, context: RunContext, state: TrainState, tally: Tally
) -> tuple[TrainState, dict[str, Any] | None]:
    """What the rule decides about a draft that is still open, and the state after it. Without a draft, a last skill
    that is not the best one leaves its measurement.

    A look that a fault or a budget prevents proves nothing: the best skill stays.
    """
    folder = context.run_dir.root / "final_selection_eval"
    try:
        decision = await rule.finish(state, context)
    except StopRun as error:
        context.emit("notice", text=f"the last draft was not looked at: {error}")
        return state.without_draft(), {"action": "undecided", "reason": f"not looked at: {error}"}
    if decision is None:
        if state.current.skill != state.best.skill and state.current.rollouts:
            await asyncio.to_thread(write_rollout_dir, folder, list(state.current.rollouts))
        return state, None
    count(tally, decision)
    tell(context, state, decision, epoch=None, stage="final_selection")
    state = state.after(decision)
    if state.is_draft:  # the run is over: what was not proven is no result
        state = state.without_draft()
    await asyncio.to_thread(write_rollout_dir, folder, list(decision.rollouts))
    return state, decision.to_json()


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
    context.emit("stage.start", stage="test", step=None, total=len(context.test) * len(texts))
    try:
        with context.timings.measure(None, "test"):
            done = await gather_all([measure(context, s, context.test, stage="test") for s in texts.values()])
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
    write_json(path / "summary.json", task_table(rollouts))


def _add(tally: Tally, stages: Mapping[str, Mapping[str, int | None]]) -> None:
    for stage, row in stages.items():
        into = tally.stages.setdefault(stage, {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0})
        for name in into:
            now, more = into[name], row[name]
            into[name] = None if now is None or more is None else now + more


def _epochs(history: Sequence[Mapping[str, Any]], ends: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row an epoch. `ends` are the results of epoch ends: what they decided, and the scores after them."""
    rows: list[dict[str, Any]] = []
    for epoch in sorted({r["epoch"] for r in history}):
        records = [r for r in history if r["epoch"] == epoch]
        after = [r for r in ends if r["epoch"] == epoch]
        last = after[-1] if after else records[-1]
        rows.append(
            {
                "epoch": epoch,
                "steps": len(records),
                "accepts": sum("accept" in r["action"] for r in records),
                "rejects": sum(r["action"] == "reject" for r in records),
                "skips": sum(r["action"].startswith("skip") for r in records),
                "undecided": sum(r["action"] == "undecided" for r in records),
                **{r["stage"]: r["action"] for r in after},
                "best_score_at_epoch_end": last["best_score"],
                "current_score_at_epoch_end": last["current_score"],
            }
        )
    return rows


def build_summary(
    context: RunContext,
    state: TrainState,
    total_steps: int,
    tally: Tally,
    tests: Mapping[str, Sequence[Rollout]],
    *,
    stopped: str | None,
    why_not: str,
) -> dict[str, Any]:
    """`summary.json` (artifacts §5); no clock value is in it."""
    first = state.initial.score
    best, current = state.best.score, state.current.score
    scores = {name: split_summary(tests.get(name), why_not) for name in
              ("test_eval_baseline", "test_eval", "test_eval_final")}  # fmt: skip
    changed = state.best.skill != context.initial
    comparison = paired(tests.get("test_eval_baseline"), tests.get("test_eval")) if changed else None
    totals = _totals(tally)
    spent = cost_of(context, tally.stages)
    return {
        "version": VERSION,
        "config": "config.json",
        "baseline_selection_hard": first.hard if first else None,
        "best_selection_hard": best.hard if best else None,
        "best_gate_score": state.best.gate_score,
        "final_selection_hard": current.hard if current else None,
        "final_selection_soft": current.soft if current else None,
        "baseline_selection": split_summary(state.initial.rollouts, why_not),
        "best_selection": split_summary(state.best.rollouts, why_not),
        "selection": split_summary(state.current.rollouts, why_not),
        "best_step": state.best_step,
        "current_origin": state.current_origin,
        "best_origin": state.best_origin,
        "initial_skill_hash": context.initial.hash,
        "best_skill_hash": state.best.skill.hash,
        "planned_steps": total_steps,
        **_verdict_counts(state.history),
        "epoch_stats": _epochs(state.history, state.memory.results),
        "epoch_ends": encode([EpochEnd.of(EpochRecord.from_json(r)) for r in state.memory.results]),
        **_flat_scores(scores),
        "baseline_test": scores["test_eval_baseline"],
        "test": scores["test_eval"],
        "final_test": scores["test_eval_final"],
        "test_by_task_type": {name: task_table(rollouts) for name, rollouts in tests.items()},
        "paired": comparison,
        "verdict": verdict_sentence(context, state, comparison, why_not),
        "stopped": stopped,
        "notices": [*context.notices, *reading_notices(context.journal)],
        "token_summary": {stage: _with_total(row) for stage, row in {**tally.stages, **totals.stages}.items()},
        "cost_per_point": per_point(comparison, _with_total(totals.stages["_total"])["total_tokens"], spent),
        "cost": {
            "usd": spent,
            "by_role": _money(context, tally),
            "note": "list price of the calls this result rests on",
        },
        "models": {
            "target": context.target.model,
            "optimizer": context.optimizer.model,
            **({"judge": context.judge.model} if context.judge else {}),
        },
        "seed": context.config.train.seed,
        "total_wall_time_s": None,
    }


def _totals(tally: Tally) -> Tally:
    """All stages in one row, `_total`."""
    total: dict[str, int | None] = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    totals = Tally(stages={"_total": total})
    for row in tally.stages.values():
        _add(totals, {"_total": row})
    return totals


def _verdict_counts(history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    actions = [str(r["action"]) for r in history]
    return {
        "total_steps": len(actions),
        "total_accepts": sum("accept" in a for a in actions),
        "total_rejects": actions.count("reject"),
        "total_skips": sum(a.startswith("skip") for a in actions),
        "total_undecided": actions.count("undecided"),
    }


def _with_total(row: Mapping[str, int | None]) -> dict[str, int | None]:
    """A row with `total_tokens`, unknown (None) when a part is."""
    prompt, completion = row["prompt_tokens"], row["completion_tokens"]
    return {**row, "total_tokens": None if prompt is None or completion is None else prompt + completion}


def _money(context: RunContext, tally: Tally) -> dict[str, dict[str, Any]]:
    """Model and list price of each role's calls."""
    ours = {stage: row for stage, row in tally.stages.items() if stage in TARGET_STAGES}
    judged = {stage: row for stage, row in tally.stages.items() if stage == JUDGED}
    theirs = {stage: row for stage, row in tally.stages.items() if stage not in {*TARGET_STAGES, JUDGED}}
    of_judge = {"judge": {"model": context.judge.model, "usd": cost_of(context, judged)}} if context.judge else {}
    return {
        "target": {"model": context.target.model, "usd": cost_of(context, ours)},
        "optimizer": {"model": context.optimizer.model, "usd": cost_of(context, theirs)},
        **of_judge,
    }


def _flat_scores(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    base, test, final = (scores[n] for n in ("test_eval_baseline", "test_eval", "test_eval_final"))

    def delta(a: Mapping[str, Any]) -> float | None:
        return None if a["hard"] is None or base["hard"] is None else a["hard"] - base["hard"]

    return {
        "baseline_test_hard": base["hard"],
        "baseline_test_soft": base["soft"],
        "test_hard": test["hard"],
        "test_soft": test["soft"],
        "final_test_hard": final["hard"],
        "final_test_soft": final["soft"],
        "test_delta_hard": delta(test),
        "final_test_delta_hard": delta(final),
    }


def _write(context: RunContext, state: TrainState, summary: dict[str, Any]) -> None:
    run_dir = context.run_dir
    run_dir.write("best_skill.md", state.best.skill.text)
    run_dir.write("history.json", list(state.history))  # a run that took no step has one too
    run_dir.write("runtime_state.json", state.view())
    run_dir.write("summary.json", summary)
    steps = [StepRecord.from_json(record) for record in state.history]
    report = render_report(Summary.from_json(summary), steps, context.initial.text, state.best.skill.text)
    run_dir.write("report.md", report)
    write_logs(context)
