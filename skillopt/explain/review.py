"""A review of a run's skill: the text that a person's decisions leave, measured before it becomes a version.

Like an ablation it is no part of the training run: own directory (`<run>/review`), journal, budget and bill; the run's
journal is read, so that answers that were paid for are free. A text that is shown to do worse does not become a
version, whoever wants it; one that is not shown to be worse does, because a person stands for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.errors import StopRun
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.spending.bill import cost_of, write_logs
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.summary.scores import score_summary
from skillopt.explain.edit_worth import compare
from skillopt.explain.provenance import Traced
from skillopt.optimizer.context import Tally
from skillopt.records.beside.ablation import WorthRecord
from skillopt.records.beside.review import RESULT, REVIEWED, ReviewMeasurement, ReviewRecord
from skillopt.records.directory import RunDir
from skillopt.records.schema import token_counts
from skillopt.records.vocabulary import Stage

_CLOCK = "review"


async def measure_review(context: RunContext, traced: Traced, record: ReviewRecord, place: RunDir) -> ReviewRecord:
    """Measure the text that the decisions leave against the one that was looked at, and write what came of it
    to `place`.

    A stop (budget, dead endpoint) is the reason in the record, and no text is written then.
    """
    full, text = traced.version.skill, traced.reviewed(record.decisions).version.skill
    tally = Tally()
    try:
        if text == full:
            found = replace(record, measurement=None, accepted=True, reason="the text is the best skill, unchanged")
        else:
            before = await _measured(context, tally, full, 1)
            after = await _measured(context, tally, text, 2)
            difference = compare(after, before, context.metric.value)
            found = _judged(context, record, difference, text, (before, after), tally)
    except StopRun as error:
        found = replace(record, measurement=None, accepted=False, reason=f"not measured: {error}")
    await asyncio.to_thread(write_review, place, found, text if found.accepted and text != full else None)
    await asyncio.to_thread(write_logs, context)
    return found


async def _measured(context: RunContext, tally: Tally, skill: Skill, number: int) -> list[Rollout]:
    items, repeats = context.selection, context.config.evaluation.repeats
    with staged(context, Stage.EVAL, total=len(items) * repeats, label=f"selection, text {number} of 2", clock=_CLOCK):
        rollouts = await measure(context, skill, items, stage=Stage.EVAL, repeats=repeats)
    count_rollouts(tally, Stage.EVAL, rollouts)
    return rollouts


def _judged(
    context: RunContext, record: ReviewRecord, difference: WorthRecord, text: Skill,
    both: tuple[Sequence[Rollout], Sequence[Rollout]], tally: Tally,
) -> ReviewRecord:  # fmt: skip
    measurement = ReviewMeasurement(
        reviewed_hash=text.hash, full=score_summary(both[0], metric=context.metric),
        reviewed=score_summary(both[1], metric=context.metric), difference=difference,
        cost=cost_of(context, tally.stages), tokens=token_counts(tally.stages),
    )  # fmt: skip
    enough = difference.n >= max(2, context.config.evaluation.coverage_floor * difference.total)
    if not enough:
        accepted, reason = False, f"too much is missing: {difference.n} of {difference.total} items have both answers"
    else:
        accepted, reason = difference.verdict != "harms", _words(difference)
    return replace(record, measurement=measurement, accepted=accepted, reason=reason)


def _words(found: WorthRecord) -> str:
    counts = f"{len(found.won)} won, {len(found.lost)} lost on {found.n} items"
    return {
        "pays": f"shown to be better than the best skill: {counts}",
        "harms": f"shown to be worse than the best skill, so it is not kept: {counts}",
    }.get(found.verdict, f"not shown to be better or worse than the best skill: {counts}")


def write_review(place: RunDir, record: ReviewRecord, text: Skill | None) -> None:
    """Write the record, and the text where it is a version; an earlier one goes. Blocking. A text counts by the hash in
    the record, so whatever is killed in between leaves no version of the wrong text."""
    if text is not None:
        place.write(REVIEWED, text.text)
    place.write(RESULT, record.to_json())
    if text is None:
        place.remove(REVIEWED)
