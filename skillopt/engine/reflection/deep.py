"""Deep reflection of one batch: choose, design, run again with the read-out question, reflect.

The attempts made again carry a question that no deployed target gets: they are evidence for analysts and score no
skill. Whatever fails on the way is a warning of the step; only what ends the run is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import Batch
from skillopt.engine.measure import measure
from skillopt.engine.reflection.outcome import DeepReflection
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.telling.stages import staged
from skillopt.envs.readout import WithReadout
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.deep_reflect import Probe, choose, design
from skillopt.optimizer.reflect import reflect
from skillopt.records.directory import RunDir
from skillopt.records.events import Notice
from skillopt.records.vocabulary import Stage

STAGE = Stage.DEEP_ROLLOUT
"""Tag of the attempts that are made again."""


async def deep_reflect(
    context: RunContext,
    ctx: StageContext,
    batch: Batch,
    rollouts: Sequence[Rollout],
    skill: Skill,
    *,
    step: int,
    buffer_text: str,
) -> DeepReflection:
    """Reflect deeply on one batch. Raises `StopRun`; everything else that fails is a warning."""
    gradient = context.config.gradient
    passed = 0 if gradient.failure_only else gradient.deep_reflect_successes
    threshold = context.env.pass_threshold
    chosen = choose(rollouts, threshold, failures=gradient.deep_reflect_failures, successes=passed, seed=batch.seed)
    found = DeepReflection(tuple(r.item.id for r in chosen))
    if not chosen:
        return _warned(context, step, found, "no attempt to look into")
    probe, lost = await design(chosen, skill, context.env, ctx, buffer_text=buffer_text)
    if probe is not None:
        lost = _gives_away(context, skill, probe)
    if probe is None or lost:
        return _warned(context, step, found, lost)
    asking = replace(context, env=WithReadout(context.env, probe.instruction))
    items = [r.item for r in chosen]
    with staged(context, STAGE, step=step, total=len(items)):
        again = await measure(asking, skill, items, stage=STAGE, step=step, priority=ctx.priority)
    count_rollouts(ctx.tally, STAGE, again)
    found = replace(found, probe=probe, rollouts=tuple(again))
    if all(r.scored is None for r in again):
        return _warned(context, step, found, "none of the attempts with the readout could be measured")
    reflection = await reflect(
        again, skill, context.env, ctx, batch_seed=batch.seed, buffer_text=buffer_text, readout=probe.instruction,
        required=False,
    )  # fmt: skip
    found = replace(found, groups=reflection.groups)
    missing = [g.lost for g in reflection.groups if g.reply is None]
    if missing:
        return _warned(
            context, step, found, f"{len(missing)} of {len(reflection.groups)} analyst replies: {missing[0]}"
        )
    return found


def _gives_away(context: RunContext, skill: Skill, probe: Probe) -> str:
    """Why the question must not be asked: the target would read an answer in it. Blank when it may."""
    if context.config.optimizer.leakage == "off":
        return ""
    leaks = context.leaks.find(probe.instruction, allowed=f"{context.initial.text}\n\n{skill.text}")
    return f"the readout was vetoed: {leaks[0]}" if leaks else ""


def _warned(context: RunContext, step: int, found: DeepReflection, warning: str) -> DeepReflection:
    context.emit(Notice(text=f"step {step}: deep reflection: {warning}"))
    return replace(found, warning=warning)


def write_deep(run_dir: RunDir, place: str, found: DeepReflection) -> None:
    """`deep_reflect/{probe.json, rollout/, patches/}` of one batch. Blocking; call it in a worker thread."""
    base = f"{place}/deep_reflect"
    run_dir.write(f"{base}/probe.json", found.to_json())
    if found.rollouts:
        write_rollout_dir(run_dir.root / base / "rollout", list(found.rollouts))
    for group in found.groups:
        run_dir.write(f"{base}/patches/{group.file_name}", group.to_json())
