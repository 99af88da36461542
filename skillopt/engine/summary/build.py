"""`summary.json`: everything a run knows of itself at its end (artifacts §5); no clock value is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import cost_of
from skillopt.engine.run.targets import reading_notices, readings
from skillopt.engine.state import TrainState
from skillopt.engine.summary.scores import paired_summary, per_point, score_summary, type_scores
from skillopt.engine.summary.verdict import verdict_sentence
from skillopt.model.types import Usage
from skillopt.optimizer.context import Tally
from skillopt.records.schema import (
    RECORD_VERSION,
    CostSummary,
    EpochEnd,
    EpochRecord,
    EpochStats,
    PairedSummary,
    RoleCost,
    ScoreSummary,
    StepRecord,
    Summary,
    TokenTotal,
)
from skillopt.records.vocabulary import Action, Stage, role_of


@dataclass(frozen=True)
class Ending:
    """What the end of a run leaves: where it stands, what was asked, the sealed test by directory or why there is
    none (`why_not`), and why it ended early (`stopped`)."""

    state: TrainState
    total_steps: int
    tally: Tally
    tests: Mapping[str, Sequence[Rollout]]
    stopped: str | None
    why_not: str
    draft: Skill | None = None
    """What is left unproven."""


@dataclass(frozen=True)
class _Sealed:
    """The sealed test in scores: of the initial, the best and the last skill, and the first two item by item."""

    baseline: ScoreSummary
    best: ScoreSummary
    final: ScoreSummary
    paired: PairedSummary | None


def build_summary(context: RunContext, end: Ending) -> Summary:
    """All of `summary.json` but what the rule's last look and a further reading of the test add to it."""
    state, why_not = end.state, end.why_not
    first, best, current = state.initial.score, state.best.score, state.current.score
    sealed, counts = _sealed(context, end), _counts(state.history)
    tokens, spent = token_totals(end.tally.stages), cost_of(context, end.tally.stages)
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
        planned_steps=end.total_steps,
        total_steps=len(state.history),
        total_accepts=counts.accepts,
        total_rejects=counts.rejects,
        total_skips=counts.skips,
        total_drafts=counts.drafts,
        total_undecided=counts.undecided,
        epoch_stats=_epochs(state.history, state.memory.results),
        epoch_ends=tuple(map(EpochEnd.of, state.memory.results)),
        baseline_test_hard=sealed.baseline.hard,
        baseline_test_soft=sealed.baseline.soft,
        test_hard=sealed.best.hard,
        test_soft=sealed.best.soft,
        final_test_hard=sealed.final.hard,
        final_test_soft=sealed.final.soft,
        test_delta_hard=_delta(sealed.baseline, sealed.best),
        final_test_delta_hard=_delta(sealed.baseline, sealed.final),
        baseline_test=sealed.baseline,
        test=sealed.best,
        final_test=sealed.final,
        test_by_task_type={name: type_scores(rollouts, context.metric) for name, rollouts in end.tests.items()},
        paired=sealed.paired,
        verdict=verdict_sentence(context, state, sealed.paired, why_not, unproven=end.draft is not None),
        stopped=end.stopped,
        notices=(*context.notices, *reading_notices(readings(context.journal))),
        token_summary=tokens,
        cost_per_point=per_point(sealed.paired, tokens["_total"].total_tokens, spent),
        cost=CostSummary(
            usd=spent, by_role=_money(context, end.tally), note="list price of the calls this result rests on"
        ),
        models=_models(context),
        seed=context.config.train.seed,
    )


def _sealed(context: RunContext, end: Ending) -> _Sealed:
    names = ("test_eval_baseline", "test_eval", "test_eval_final")
    baseline, best, final = (score_summary(end.tests.get(name), end.why_not, context.metric) for name in names)
    changed = end.state.best.skill != context.initial
    paired = (
        paired_summary(end.tests.get("test_eval_baseline"), end.tests.get("test_eval"), context.metric)
        if changed
        else None
    )
    return _Sealed(baseline, best, final, paired)


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
