"""What happens between two epochs: comparison, slow update, meta skill, meta reflection, in that order.

Each mechanism leaves a result file with the tokens of its calls. Nothing is kept of one that a stop interrupts: as in
a step, the calls it made are in the journal and the next start of the run makes the same decisions out of them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.skill import Skill
from skillopt.engine.acceptance import draft_review
from skillopt.engine.acceptance.proposal_gate import EpochWork
from skillopt.engine.epoch import meta_reflect, slow_update
from skillopt.engine.epoch.comparison import Comparison, compare, write_comparison
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.epoch.meta_skill import ask_memory
from skillopt.optimizer.epoch.slow_update import ask_guidance
from skillopt.optimizer.schemas.epoch import Written

META_SKILL = "meta_skill"
Reply = tuple[Written | None, str]
NO_PAIR = "no pair of attempts could be compared"


def any_epoch_end(context: RunContext) -> bool:
    """True when something happens between epochs."""
    optimizer = context.config.optimizer
    return optimizer.use_slow_update or optimizer.use_meta_skill or optimizer.use_meta_reflect


def acceptance(context: RunContext) -> str | None:
    """How guidance of the slow update becomes current: `gated`, `force-accept`, or None without a slow update."""
    optimizer = context.config.optimizer
    if not optimizer.use_slow_update:
        return None
    return "gated" if optimizer.slow_update_gate_with_selection else "force-accept"


async def end_epoch(context: RunContext, state: TrainState, *, epoch: int, step: int) -> None:
    """Do an epoch's end; `step` is its last step.

    Raises `StopRun`. Writes the mechanisms' own files; history, state and skills are the caller's.
    """
    if draft_review.reviews(context, state):
        work = EpochWork(draft_review.NAME, epoch, step)
        work.start(context)
        _keep(context, state, work, await draft_review.review(context, state, work), "review_result.json")
    if epoch == 1:
        await _first(context, state, epoch, step)
    else:
        await _compare_and_learn(context, state, epoch, step)
    if context.config.optimizer.use_meta_reflect:
        work = EpochWork(meta_reflect.NAME, epoch, step)
        work.start(context)
        _keep(context, state, work, await meta_reflect.reflect(context, state, work), "meta_result.json")
    state.memory.previous = state.current.skill


async def _first(context: RunContext, state: TrainState, epoch: int, step: int) -> None:
    """There is no earlier epoch to compare with."""
    optimizer = context.config.optimizer
    if optimizer.use_slow_update:
        work = EpochWork(slow_update.NAME, epoch, step)
        work.start(context)
        _keep(context, state, work, await slow_update.place(context, state, work), "slow_result.json")
    if optimizer.use_meta_skill:
        work = EpochWork(META_SKILL, epoch, step)
        work.start(context)
        result = work.result(context, state, {"action": "skip_first_epoch"})
        _keep(context, state, work, result, "meta_skill_result.json")


@dataclass(frozen=True)
class _Lessons:
    """One epoch's end in the making: both mechanisms learn from one comparison."""

    context: RunContext
    state: TrainState
    done: Comparison
    guidance: EpochWork
    memory: EpochWork

    def stage_context(self, work: EpochWork) -> StageContext:
        """Without the memory: the slow update does not see it, and the meta skill is shown it as its subject."""
        return self.context.stage_context(work.tally)

    async def ask_guidance(self) -> Reply:
        if not self.context.config.optimizer.use_slow_update or not self.done.pairs:
            return None, NO_PAIR
        return await ask_guidance(self.done.compared, self.context.env, self.stage_context(self.guidance))

    async def ask_memory(self) -> Reply:
        if not self.context.config.optimizer.use_meta_skill or not self.done.pairs:
            return None, NO_PAIR
        known = self.state.memory.meta_skill
        return await ask_memory(self.done.compared, known, self.context.env, self.stage_context(self.memory))


async def _compare_and_learn(context: RunContext, state: TrainState, epoch: int, step: int) -> None:
    """Epoch 2 and later. Both calls read the skills as they are before the slow update, so they run side by side."""
    optimizer, previous = context.config.optimizer, state.memory.previous
    if previous is None or not (optimizer.use_slow_update or optimizer.use_meta_skill):
        return
    guidance, memory = EpochWork(slow_update.NAME, epoch, step), EpochWork(META_SKILL, epoch, step)
    first = guidance if optimizer.use_slow_update else memory
    first.start(context, total=2 * min(optimizer.slow_update_samples, len(context.splits.train)))
    with context.timings.measure(step, "longitudinal"):
        done = await compare(context, previous, state.current.skill, epoch=epoch, step=step)
    first.tally.stages.update(done.tally.stages)
    state.learn([*done.curr, *done.topup_curr])
    lessons = _Lessons(context, state, done, guidance, memory)
    with context.timings.measure(step, "lessons"):
        said, remembered = await gather_all([lessons.ask_guidance(), lessons.ask_memory()])
    await asyncio.to_thread(write_comparison, context.run_dir, first.folder, done, context)
    if optimizer.use_slow_update:
        result = await slow_update.update(context, state, guidance, done, *said)
        _keep(context, state, guidance, result, "slow_result.json")
    if optimizer.use_meta_skill:
        if optimizer.use_slow_update:
            memory.start(context)
        result = _remember(context, state, memory, done, *remembered)
        _keep(context, state, memory, result, "meta_skill_result.json")


def _remember(
    context: RunContext, state: TrainState, work: EpochWork, done: Comparison, written: Written | None, lost: str
) -> dict[str, Any]:
    """Let a written memory replace the last one; an epoch without content keeps it. Returns the result file."""
    content = written.content if written else ""
    if content:
        state.memory.meta_skill = content
    body = {
        "action": "write_meta_skill" if content else "no_content",
        "reason": lost or ("" if content else "the optimizer wrote none"),
        **done.to_json(),
        "reasoning": written.reasoning if written else "",
        "meta_skill_content": content,
        "memory_in_force": state.memory.meta_skill,
    }
    return work.result(context, state, body)


def _keep(context: RunContext, state: TrainState, work: EpochWork, result: dict[str, Any], name: str) -> None:
    """Write a result file, remember it for the summary, tell observers."""
    context.run_dir.write(f"{work.folder}/{name}", result)
    state.memory.results.append(result)
    context.emit("stage.end", stage=work.name, step=work.step, epoch=work.epoch)
    context.emit("epoch.result", **result)


def look_ahead(context: RunContext, epoch: int, skill: Skill) -> tuple[Skill | None, bool]:
    """What the first step after this epoch will work with if its last candidate is rejected: the skill, None when that
    cannot be guessed; and whether its optimizer prompts are known too."""
    optimizer = context.config.optimizer
    if epoch == 1 and not optimizer.use_meta_reflect:
        return (slow_update.with_placeholder(skill) if optimizer.use_slow_update else skill), True
    if not any_epoch_end(context):
        return skill, True
    forced = optimizer.use_slow_update and not optimizer.slow_update_gate_with_selection and epoch > 1
    return (None if forced else skill), False
