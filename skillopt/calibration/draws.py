"""Asking the judge: every labelled answer, several times, each as a run would ask it. The calls are journalled, priced
and budgeted under the role `judge`; a draw without a verdict is missing and never counted as wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.calibration.figures import Judged, Reading, figures
from skillopt.calibration.labels import Labelled, Labels
from skillopt.core.aio import gather_all
from skillopt.core.errors import BudgetExceeded, ModelError, StopRun
from skillopt.core.outcome import Missing, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import cost_of, write_logs
from skillopt.engine.run.telling.stages import staged
from skillopt.envs.scorers.judging import AsksJudge
from skillopt.envs.scoring import ScoreContext
from skillopt.model.types import Usage
from skillopt.optimizer.context import Tally
from skillopt.records.beside.calibration import Calibration
from skillopt.records.events import StageProgress
from skillopt.records.step import token_counts
from skillopt.records.vocabulary import Stage

RESULT = "calibration.json"


@dataclass(frozen=True)
class Question:
    """What is asked: a scorer about labelled answers, `repeats` times each."""

    scorer: AsksJudge
    labels: Labels
    repeats: int
    notices: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Calls to the judge, re-asks apart."""
        return len(self.labels.answers) * self.repeats * self.scorer.judge_calls


async def calibrate(context: RunContext, question: Question) -> Calibration:
    """Ask and count. Writes `calibration.json`; a stop (budget, dead endpoint) is in it, with what was measured."""
    answers, scorer = question.labels.answers, question.scorer
    tally = Tally()
    draws: dict[tuple[int, int], Scored] = {}
    faults: list[str] = []
    total = len(answers) * question.repeats
    stopped: StopRun | None = None

    async def one(n: int, draw: int) -> None:
        outcome = await _draw(context, scorer, answers[n], draw, tally)
        if isinstance(outcome, Scored):
            draws[n, draw] = outcome
        else:
            faults.append(outcome.error)
        context.emit(StageProgress(stage=Stage.JUDGE, done=len(draws) + len(faults), total=total))

    with staged(context, Stage.JUDGE, total=total):
        try:
            await gather_all([one(n, draw) for n in range(len(answers)) for draw in range(question.repeats)])
        except StopRun as error:
            stopped = error
    judged = [
        Judged(answer, tuple(draws[n, d] for d in range(question.repeats) if (n, d) in draws))
        for n, answer in enumerate(answers)
    ]
    found = _calibration(context, question, judged, tally, faults, stopped)
    context.run_dir.write(RESULT, found.to_json())
    await asyncio.to_thread(write_logs, context)
    return found


async def _draw(context: RunContext, scorer: AsksJudge, answer: Labelled, draw: int, tally: Tally) -> Scored | Missing:
    """One verdict as a run would come to it."""
    rollout = Rollout(answer.item, "", Pending(), repeat=draw)
    ctx = ScoreContext(rollout, Stage.JUDGE, task=answer.task, scoring=context.scoring)
    try:
        outcome = await scorer.judged(answer.answer, answer.gold, ctx, first=draw * scorer.repeats)
    except StopRun:
        raise
    except ModelError as error:
        return Missing(f"the judge gave no verdict: {error}")
    used = ctx.judged.sums
    usage = Usage(used["prompt_tokens"], used["completion_tokens"])
    tally.add(Stage.JUDGE, usage, ctx.judged.calls)
    return outcome if isinstance(outcome, Scored) else Missing(outcome.error if isinstance(outcome, Missing) else "")


def _calibration(
    context: RunContext,
    question: Question,
    judged: Sequence[Judged],
    tally: Tally,
    faults: Sequence[str],
    stopped: StopRun | None,
) -> Calibration:
    labels, scorer = question.labels, question.scorer
    passes = getattr(scorer, "passes", 1.0) if not getattr(scorer, "criteria", None) else 1.0
    found = figures(judged, Reading(labels.kind, passes if labels.kind == "graded" else 0.5))
    notices = list(question.notices)
    if faults:
        notices.append(f"{len(faults)} of {len(judged) * question.repeats} verdicts are missing, first: {faults[0]}")
    body = Calibration(
        kind=labels.kind,
        scorer=str(getattr(scorer, "name", "")),
        judge=context.judge.model if context.judge is not None else "",
        answers=len(judged),
        measured=sum(bool(one.draws) for one in judged),
        items=len({one.labelled.item.id for one in judged}),
        labels=sum(len(one.labelled.labels) for one in judged),
        repeats=question.repeats,
        agreement=found.agreement,
        chance=found.chance,
        kappa=found.kappa,
        noise=found.noise,
        leniency=found.leniency,
        rank=found.rank,
        spread=found.spread,
        position=found.position,
        contradicted=found.contradicted,
        people=found.people,
        disagreements=found.disagreements,
        notices=tuple(notices),
        tokens=token_counts(tally.stages),
        stopped=str(stopped) if stopped is not None else None,
        stopped_by=None if stopped is None else "budget" if isinstance(stopped, BudgetExceeded) else "fault",
    )
    return replace(body, cost=cost_of(context, tally.stages))
