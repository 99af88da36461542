"""The review of a draft at an epoch's end: still better than the proven skill, on fresh training draws?

Under the paired rule every passed trial moves the draft, and now and then a harmful edit passes by luck. Nothing of
that reaches `best_skill.md`, but the search would go on from a draft that sinks. So an unproven draft is measured once
an epoch beside the proven skill, on training items and draws that no trial chose; one that is not better is given up.
"""

from __future__ import annotations

import math
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.streams import named, shuffled
from skillopt.engine.acceptance.proposal_gate import EpochWork
from skillopt.engine.acceptance.trial import default_trial
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import TrainState

NAME = "draft_review"


def reviews(context: RunContext, state: TrainState) -> bool:
    """True when there is a draft to review."""
    evaluation = context.config.evaluation
    return evaluation.gate_rule == "paired" and evaluation.use_gate and state.is_draft


async def review(context: RunContext, state: TrainState, work: EpochWork) -> dict[str, Any]:
    """Measure draft and proven skill side by side; give the draft up unless it is better. Returns the result file."""
    config = context.config
    items = shuffled(context.splits.train, named(config.train.seed, "review", work.epoch))[: default_trial(context)]
    first = 0 if config.env.temperature == 0 else 1
    draft, proven = state.current.skill, state.best.skill
    with context.timings.measure(work.step, NAME):
        ours, theirs = await gather_all(
            [measure(context, s, items, stage="trial", step=work.step, first=first) for s in (draft, proven)]
        )
    count_rollouts(work.tally, "trial", [*ours, *theirs])
    value = context.metric.value
    pairs = [(value(a.outcome), value(b.outcome)) for a, b in zip(ours, theirs, strict=True)]
    differences = [a - b for a, b in pairs if a is not None and b is not None]
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    measured = len(differences) >= config.evaluation.coverage_floor * len(pairs)
    kept = math.fsum(differences) > 0 or not measured
    if not kept:
        state.drop_draft()
    tally = f"{wins} won, {losses} lost of {len(differences)} fresh training draws"
    found = "still better than the proven skill" if kept else "not better than the proven skill"
    body = {
        "action": "keep_draft" if kept else "drop_draft",
        "reason": f"{found if measured else f'too few of {len(pairs)} pairs could be measured'}: {tally}",
        "draft_hash": draft.hash,
        "proven_hash": proven.hash,
    }
    return work.result(context, state, body)
