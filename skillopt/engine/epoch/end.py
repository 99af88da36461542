"""What happens between two epochs: comparison, slow update, meta skill, meta reflection, in that order.

Each mechanism leaves a result file with the tokens of its calls, and the state after it. Nothing is kept of one that a
stop interrupts: as in a step, the calls it made are in the journal and the next start of the run makes the same
decisions out of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from skillopt.core.aio import gather_all
from skillopt.core.skill import Skill
from skillopt.engine.acceptance import draft_review
from skillopt.engine.acceptance.decide import count
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.epoch import meta_reflect, slow_update
from skillopt.engine.epoch.comparison import Comparison, compare, write_comparison
from skillopt.engine.epoch.work import EpochWork, Result
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


async def end_epoch(
    rule: AcceptanceRule, state: TrainState, context: RunContext, *, epoch: int, step: int
) -> AsyncGenerator[TrainState]:
    """Do an epoch's end, `step` being its last step: the state after each mechanism, as soon as it is decided.

    Raises `StopRun`. Writes the mechanisms' own files; history, state and skills are the caller's.
    """
    optimizer = context.config.optimizer

    def work(name: str) -> EpochWork:
        return EpochWork(rule, context, name, epoch, step)

    reviewed = await _review(work(draft_review.NAME), state)
    if reviewed is not None:
        yield (state := reviewed)
    if epoch == 1:
        yield (state := await _first(work(slow_update.NAME), work(META_SKILL), state))
    elif optimizer.use_slow_update or optimizer.use_meta_skill:
        async for after in _compare_and_learn(work(slow_update.NAME), work(META_SKILL), state):
            yield (state := after)
    if optimizer.use_meta_reflect:
        reflecting = work(meta_reflect.NAME)
        reflecting.start()
        state, result = await meta_reflect.reflect(reflecting, state)
        yield (state := await _keep(reflecting, state, result, "meta_result.json"))
    yield state.remembering(previous=state.current.skill)


async def _review(work: EpochWork, state: TrainState) -> TrainState | None:
    """Whether a draft goes on; None when there is none to review."""
    if not state.is_draft:
        return None
    decision = await work.rule.review(state, work.context, epoch=work.epoch, step=work.step)
    if decision is None:
        return None
    count(work.tally, decision)
    proven, state = state.best.skill, state.after(decision)
    body = {
        "action": "drop_draft" if decision.dropped else "keep_draft",
        "reason": decision.verdict.reason,
        "draft_hash": decision.skill.hash,
        "proven_hash": proven.hash,
    }
    return await _keep(work, state, work.result(state, body), "review_result.json")


async def _first(guidance: EpochWork, memory: EpochWork, state: TrainState) -> TrainState:
    """There is no earlier epoch to compare with."""
    optimizer = guidance.context.config.optimizer
    if optimizer.use_slow_update:
        guidance.start()
        state, result = await slow_update.place(guidance, state)
        state = await _keep(guidance, state, result, "slow_result.json")
    if optimizer.use_meta_skill:
        memory.start()
        result = memory.result(state, {"action": "skip_first_epoch"})
        state = await _keep(memory, state, result, "meta_skill_result.json")
    return state


@dataclass(frozen=True)
class _Lessons:
    """One epoch's end in the making: both mechanisms learn from one comparison."""

    context: RunContext
    done: Comparison
    guidance: EpochWork
    memory: EpochWork
    known: str
    """The memory so far."""

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
        return await ask_memory(self.done.compared, self.known, self.context.env, self.stage_context(self.memory))


async def _compare_and_learn(guidance: EpochWork, memory: EpochWork, state: TrainState) -> AsyncGenerator[TrainState]:
    """Epoch 2 and later. Both calls read the skills as they are before the slow update, so they run side by side."""
    context, previous = guidance.context, state.memory.previous
    optimizer, step = context.config.optimizer, guidance.step
    if previous is None:
        return
    first = guidance if optimizer.use_slow_update else memory
    first.start(total=2 * min(optimizer.slow_update_samples, len(context.splits.train)))
    with context.timings.measure(step, "longitudinal"):
        done = await compare(context, previous, state.current.skill, epoch=guidance.epoch, step=step)
    first.tally.stages.update(done.tally.stages)
    yield (state := state.learned([*done.curr, *done.topup_curr]))
    lessons = _Lessons(context, done, guidance, memory, state.memory.meta_skill)
    with context.timings.measure(step, "lessons"):
        said, remembered = await gather_all([lessons.ask_guidance(), lessons.ask_memory()])
    await asyncio.to_thread(write_comparison, context.run_dir, first.folder, done, context)
    if optimizer.use_slow_update:
        state, result = await slow_update.guide(guidance, state, done, *said)
        yield (state := await _keep(guidance, state, result, "slow_result.json"))
    if optimizer.use_meta_skill:
        if optimizer.use_slow_update:
            memory.start()
        state, result = _remembered(memory, state, done, *remembered)
        yield (state := await _keep(memory, state, result, "meta_skill_result.json"))


def _remembered(
    work: EpochWork, state: TrainState, done: Comparison, written: Written | None, lost: str
) -> tuple[TrainState, Result]:
    """A written memory replaces the last one; an epoch without content keeps it. The state and the result file."""
    content = written.content if written else ""
    if content:
        state = state.remembering(meta_skill=content)
    body = {
        "action": "write_meta_skill" if content else "no_content",
        "reason": lost or ("" if content else "the optimizer wrote none"),
        **done.to_json(),
        "reasoning": written.reasoning if written else "",
        "meta_skill_content": content,
        "memory_in_force": state.memory.meta_skill,
    }
    return state, work.result(state, body)


async def _keep(work: EpochWork, state: TrainState, result: Result, name: str) -> TrainState:
    """Write a result file, remember it for the summary, tell observers."""
    context = work.context
    await asyncio.to_thread(context.run_dir.write, f"{work.folder}/{name}", result)
    context.emit("stage.end", stage=work.name, step=work.step, epoch=work.epoch)
    context.emit("epoch.result", **result)
    return state.remembering(results=(*state.memory.results, result))


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
