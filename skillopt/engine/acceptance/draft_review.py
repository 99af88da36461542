"""The review of a draft at an epoch's end: still better than the proven skill, on fresh training draws?

Under the paired rule every passed trial moves the draft, and now and then a harmful edit passes by luck. Nothing of
that reaches `best_skill.md`, but the search would go on from a draft that sinks. So an unproven draft is measured once
an epoch beside the proven skill, on training items and draws that no trial chose; one that is not better is given up.
"""

from __future__ import annotations

import math

from skillopt.config.derived import draws_differ
from skillopt.core.aio import gather_all
from skillopt.core.streams import named, shuffled
from skillopt.engine.acceptance.trial import default_trial
from skillopt.engine.decision import Decision
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.state import TrainState
from skillopt.gate.verdict import Evidence, Verdict
from skillopt.records.vocabulary import Stage


def clearly_worse(wins: int, losses: int) -> bool:
    """More losses than wins by more than chance would turn over: a tie, or one item, drops nothing."""
    return losses - wins > math.sqrt(losses + wins)


async def review(context: RunContext, state: TrainState, *, epoch: int, step: int, clearly: bool = False) -> Decision:
    """Measure draft and proven skill side by side; the draft is given up unless it is better, or with `clearly` only
    when it loses more than chance would."""
    config = context.config
    items = shuffled(context.splits.train, named(config.train.seed, "review", epoch))[: default_trial(context)]
    first = 1 if draws_differ(config) else 0
    draft, proven = state.current.skill, state.best.skill
    with staged(context, Stage.DRAFT_REVIEW, step=step, epoch=epoch, total=2 * len(items)):
        ours, theirs = await gather_all(
            [measure(context, s, items, stage=Stage.TRIAL, step=step, first=first) for s in (draft, proven)]
        )
    value = context.metric.value
    pairs = [(value(a.outcome), value(b.outcome)) for a, b in zip(ours, theirs, strict=True)]
    differences = [a - b for a, b in pairs if a is not None and b is not None]
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    measured = len(differences) >= config.evaluation.coverage_floor * len(pairs)
    better = not clearly_worse(wins, losses) if clearly else math.fsum(differences) > 0
    kept = better or not measured
    tally = f"{wins} won, {losses} lost of {len(differences)} fresh training draws"
    if clearly:
        found = "not clearly worse than the proven skill" if kept else "clearly worse than the proven skill"
    else:
        found = "still better than the proven skill" if kept else "not better than the proven skill"
    reason = f"{found if measured else f'too few of {len(pairs)} pairs could be measured'}: {tally}"
    # Training draws: they tell the gate's order nothing about selection items.
    verdict = Verdict("undecided" if kept else "reject", None, Evidence(), reason)
    return Decision(draft, state.current_origin, step, verdict, extra=(*ours, *theirs), dropped=not kept)
