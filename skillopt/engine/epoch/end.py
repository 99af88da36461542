"""What happens between two epochs: comparison, slow update, meta skill, meta reflection, in that order.

Each mechanism leaves a result file with the tokens of its calls, and the state after it. Nothing is kept of one that a
stop interrupts: as in a step, the calls it made are in the journal and the next start of the run makes the same
decisions out of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from skillopt.config.derived import rule_name
from skillopt.core.aio import gather_all
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.decide import count
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.epoch import meta_reflect, slow_update
from skillopt.engine.epoch.comparison import Comparison, compare, write_comparison
from skillopt.engine.epoch.work import EpochWork
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.telling.frame import outcome_of
from skillopt.engine.state import TrainState
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.epoch.meta_skill import ask_memory
from skillopt.optimizer.epoch.slow_update import ask_guidance
from skillopt.optimizer.schemas.epoch import Written
from skillopt.records.events import EpochResult
from skillopt.records.schema import RESULT_FILES, EpochRecord
from skillopt.records.vocabulary import Action, Stage

Reply = tuple[Written | None, str]
NO_PAIR = "no pair of attempts could be compared"


def any_epoch_end(context: RunContext) -> bool:
    """True when something happens between epochs."""
    optimizer = context.config.optimizer
    return optimizer.use_slow_update or optimizer.use_meta_skill or optimizer.use_meta_reflect


def acceptance(context: RunContext) -> str | None:
    """How guidance of the slow update becomes current: `gated`, `force-accept`, or None without a slow update."""
    optimizer = context.config.optimizer
    if not optimizer.use_slow_update or rule_name(context.config) == "factorial":
        return None
    return "gated" if optimizer.slow_update_gate_with_selection else "force-accept"


async def end_epoch(
    rule: AcceptanceRule, state: TrainState, context: RunContext, *, epoch: int, step: int
) -> AsyncGenerator[TrainState]:
    """Do an epoch's end, `step` being its last step: the state after each mechanism, as soon as it is decided.

    Raises `StopRun`. Writes the mechanisms' own files; history, state and skills are the caller's.
    """
    optimizer = context.config.optimizer

    def work(stage: Stage) -> EpochWork:
        return EpochWork(rule, context, stage, epoch, step)

    reviewed = await _review(work(Stage.DRAFT_REVIEW), state)
    if reviewed is not None:
        yield (state := reviewed)
    if epoch == 1:
        yield (state := await _first(work(Stage.SLOW_UPDATE), work(Stage.META_SKILL), state))
    elif optimizer.use_slow_update or optimizer.use_meta_skill:
        async for after in _compare_and_learn(work(Stage.SLOW_UPDATE), work(Stage.META_SKILL), state):
            yield (state := after)
    if optimizer.use_meta_reflect:
        reflecting = work(Stage.META_REFLECT)
        with told(reflecting):
            state, result = await meta_reflect.reflect(reflecting, state)
            state = await _keep(reflecting, state, result)
        yield state
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
    action = Action.DROP_DRAFT if decision.dropped else Action.KEEP_DRAFT
    found = replace(
        work.record(action, decision.verdict.reason), draft_hash=decision.skill.hash, proven_hash=proven.hash
    )
    return await _keep(work, state, work.result(state, found))


async def _first(guidance: EpochWork, memory: EpochWork, state: TrainState) -> TrainState:
    """There is no earlier epoch to compare with."""
    optimizer = guidance.context.config.optimizer
    if optimizer.use_slow_update:
        with told(guidance):
            state, result = await slow_update.place(guidance, state)
            state = await _keep(guidance, state, result)
    if optimizer.use_meta_skill:
        with told(memory):
            state = await _keep(memory, state, memory.result(state, memory.record(Action.SKIP_FIRST_EPOCH)))
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
    with told(first, total=2 * min(optimizer.slow_update_samples, len(context.splits.train))):
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
            yield (state := await _keep(guidance, state, result))
        else:
            state, result = _remembered(memory, state, done, *remembered)
            yield (state := await _keep(memory, state, result))
    if optimizer.use_slow_update and optimizer.use_meta_skill:
        with told(memory):
            state, result = _remembered(memory, state, done, *remembered)
            state = await _keep(memory, state, result)
        yield state


def _remembered(
    work: EpochWork, state: TrainState, done: Comparison, written: Written | None, lost: str
) -> tuple[TrainState, EpochRecord]:
    """A written memory replaces the last one; an epoch without content keeps it. The state and the result file."""
    content = written.content if written else ""
    if content:
        state = state.remembering(meta_skill=content)
    found = replace(
        work.record(
            Action.WRITE_META_SKILL if content else Action.NO_CONTENT,
            lost or ("" if content else "the optimizer wrote none"),
        ),
        comparison=done.record(),
        reasoning=written.reasoning if written else "",
        meta_skill_content=content,
        memory_in_force=state.memory.meta_skill,
    )
    return state, work.result(state, found)


@contextmanager
def told(work: EpochWork, total: int | None = None) -> Generator[None]:
    """Start a mechanism and end it, on every way out."""
    work.start(total)
    try:
        yield
    except BaseException as error:  # told and raised
        work.end(outcome_of(error))
        raise
    work.end()


async def _keep(work: EpochWork, state: TrainState, result: EpochRecord) -> TrainState:
    """Write a result file, remember it for the summary, tell observers."""
    name = f"{work.folder}/{RESULT_FILES[work.stage]}"
    await asyncio.to_thread(work.context.run_dir.write, name, result.to_json())
    work.context.emit(EpochResult(record=result))
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
