"""The initial skill on the selection split, before the first step."""

from __future__ import annotations

import asyncio
import json

from skillopt.core.errors import StopRun
from skillopt.core.item import SPLITS
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.engine.decision import Measured
from skillopt.engine.item_images import ItemImages
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.records.codec import encode_record
from skillopt.records.items import FILE, ItemRow
from skillopt.records.vocabulary import Stage


async def baseline(context: RunContext, tally: Tally) -> Measured:
    """Measure the initial skill on the selection split, on exactly the bytes that training starts from."""
    repeats = context.config.evaluation.repeats
    with staged(context, Stage.BASELINE, total=len(context.selection) * repeats) as told:
        rollouts = await measure(context, context.initial, context.selection, stage=Stage.BASELINE, repeats=repeats)
        measured = Measured(context.initial, tuple(rollouts), context.metric, context.bonus(context.initial))
        score = measured.score
        told.measured(score)
    if score is None or score.coverage < context.config.evaluation.coverage_floor:
        errors = [getattr(r.outcome, "error", "") for r in rollouts]
        first = next((e for e in errors if e), "no error was reported")
        raise StopRun(
            f"only {score.n if score else 0} of {len(rollouts)} selection items could be measured with the initial "
            f"skill; the first error was: {first}"
        )
    await asyncio.to_thread(write_items, context)
    count_rollouts(tally, Stage.BASELINE, rollouts)
    await asyncio.to_thread(write_rollout_dir, context.run_dir.root / "selection_eval_baseline", rollouts)
    return measured


def write_items(context: RunContext) -> None:
    """`items.jsonl`, for people: what was asked of whom, and the right answers."""
    images = ItemImages(context.run_dir.root, context.env)
    rows = [
        ItemRow(
            id=item.id,
            split=name,
            task_type=item.task_type,
            golds=tuple(context.env.golds(item)),
            images=images.of(item),
        )
        for name in SPLITS
        for item in context.splits.named(name)
    ]
    context.run_dir.write(FILE, "".join(f"{json.dumps(encode_record(row))}\n" for row in rows))


def unmeasured(context: RunContext, reason: str) -> Measured:
    """The initial skill of a run that could not even measure it: every outcome is missing, none is a zero."""
    repeats = range(context.config.evaluation.repeats)
    rollouts = [
        Rollout(item, context.initial.hash, Missing(reason), repeat=k) for item in context.selection for k in repeats
    ]
    return Measured(context.initial, tuple(rollouts), context.metric, context.bonus(context.initial))
