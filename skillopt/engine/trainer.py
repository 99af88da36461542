"""The loop: baseline, epochs, steps, the end of a run. A deterministic function of (configuration, data, answers).

Resuming is running again: what was paid for returns from the journal, and the same views are written with the same
bytes. There is no other resume path. A run that is stopped by a budget, by patience or by a fault of the provider
still ends in order, with its best skill and, where calls are left, its sealed test.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from skillopt.config.derived import rule_name
from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.errors import FatalModelError, PatienceOver, StopRun
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.engine.acceptance.choose import rule_of
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.baseline import baseline, unmeasured
from skillopt.engine.batches import StepPlan
from skillopt.engine.epoch.end import acceptance, end_epoch, look_ahead
from skillopt.engine.epoch.meta_reflect import direction
from skillopt.engine.finish import RunResult, finish
from skillopt.engine.length import Length, plans, run_length, schedule_total
from skillopt.engine.prefetch import Prefetcher
from skillopt.engine.reflection.appendix import try_notes
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.initial_skill import keep_files
from skillopt.engine.run.spending.bill import remember_time
from skillopt.engine.run.telling.frame import ended_by, outcome_of
from skillopt.engine.signal import control, refuse_constant
from skillopt.engine.stages.record import buffer_entry, rate, step_record, write_state, write_step
from skillopt.engine.stages.result import Built, StepResult, Upcoming
from skillopt.engine.stages.scripts import broken_at_start
from skillopt.engine.state import TrainState
from skillopt.engine.step import run_step
from skillopt.engine.test_reserve import set_aside_for_end
from skillopt.engine.views import Views
from skillopt.optimizer.context import Tally
from skillopt.records.events import (
    EpochEnd,
    EpochStart,
    Notice,
    Outcome,
    RunStart,
    StepEnd,
    StepStart,
)
from skillopt.records.schema import GateRecord, StepRecord
from skillopt.records.vocabulary import Action

if TYPE_CHECKING:
    from skillopt.engine.factorial.trainer import FactorialTrainer


async def train(context: RunContext) -> RunResult:
    """Train and write every artifact. Raises what a user must see; a stop in order is in `RunResult.stopped`."""
    length, rule = run_length(context), rule_of(context.config)
    context.emit(
        RunStart(
            out_root=str(context.run_dir.root), env=context.env.name, roles=context.roles,
            splits={"train": len(context.splits.train), "selection": len(context.selection), "test": len(context.test)},
            total_steps=length.total_steps, epochs=length.epochs, gate_metric=context.metric.name,
            gate_rule=rule_name(context.config), slow_update=acceptance(context),
        )
    )  # fmt: skip
    try:
        return await _train(context, rule, length)
    except BaseException as error:  # told and raised: a run that was told to begin is told to end
        context.emit(ended_by(error))
        raise


async def _train(context: RunContext, rule: AcceptanceRule, length: Length) -> RunResult:
    context.run_dir.write("skills/skill_v0000.md", context.initial.text)
    keep_files(context.config, context.run_dir.root)
    tally = Tally()
    for text in await broken_at_start(context):
        context.emit(Notice(text=text))
    try:
        await control(context)
        state = rule.opened(await baseline(context, tally), context)
    except FatalModelError:
        raise
    except StopRun as error:
        context.emit(Notice(text=f"stopping: {error}"))
        state = rule.opened(unmeasured(context, str(error)), context)
        return await finish(rule, context, state, length.total_steps, tally, stopped=error, test=False)
    write_state(context, state)
    trainer = _trainer(context, rule, length, state)
    stopped: StopRun | None = None
    try:
        refuse_constant(context, state.initial)
        await trainer.run()
    except StopRun as error:
        stopped = error
        context.emit(Notice(text=f"stopping: {error}"))
    if isinstance(stopped, FatalModelError):
        write_state(context, trainer.state)
        raise stopped
    return await finish(rule, context, trainer.state, length.total_steps, tally, stopped=stopped)


def _trainer(
    context: RunContext, rule: AcceptanceRule, length: Length, state: TrainState
) -> Trainer | FactorialTrainer:
    """The search that the configuration asks for. The factorial one brings numpy, which the other never needs."""
    if context.config.train.search != "factorial":
        return Trainer(context, rule, length, state)
    from skillopt.engine.factorial.trainer import FactorialTrainer

    return FactorialTrainer(context, rule, length, state)


class Trainer:
    """Holds the only reference to the state that moves on. What a stop interrupts leaves it as it was."""

    def __init__(self, context: RunContext, rule: AcceptanceRule, length: Length, state: TrainState) -> None:
        self.state = state
        self._context, self._rule, self._length = context, rule, length
        self._prefetcher, self._views = Prefetcher(context), Views()
        self._open_epoch: int | None = None
        self._open_step: int | None = None

    async def run(self) -> None:
        """All steps. The step buffer is emptied at each epoch start. Raises `StopRun` to end the run in order."""
        todo = list(plans(self._context, self._length))
        idle = 0
        try:
            for plan, following in zip(todo, [*todo[1:], None], strict=True):
                found = await self._step(plan, following)
                idle = 0 if found.accepted else idle + 1
                patience = self._context.config.budget.patience
                if patience and idle >= patience:
                    raise PatienceOver(
                        f"patience: {idle} steps in a row without an accepted candidate (budget.patience)"
                    )
                if plan.step_in_epoch == self._length.steps_per_epoch - 1:
                    changed = await self._close_epoch(plan)
                    self._tell_ends("done")
                    if changed:
                        idle = 0
                        await self._prefetcher.cancel()
            self._tell_ends("done")
        except BaseException as error:
            self._tell_ends(outcome_of(error))
            raise
        finally:
            await self._prefetcher.cancel()
            await self._views.written()

    def _tell_ends(self, outcome: Outcome) -> None:
        """Tell observers of the end of what was told to have begun."""
        step, epoch = self._open_step, self._open_epoch
        self._open_step = self._open_epoch = None
        if step is not None:
            self._context.emit(StepEnd(step=step, total_steps=self._length.total_steps, outcome=outcome))
        if epoch is not None:
            self._context.emit(EpochEnd(epoch=epoch, outcome=outcome))

    async def _step(self, plan: StepPlan, following: StepPlan | None) -> StepResult:
        """One step and what it changes."""
        context = self._context
        self._open_epoch, self._open_step = plan.epoch, plan.step
        if plan.step_in_epoch == 0:
            self.state = replace(self.state, buffer=()).remembering(directions=())
            context.emit(EpochStart(epoch=plan.epoch, epochs=self._length.epochs))
        context.emit(
            StepStart(
                step=plan.step, epoch=plan.epoch, step_in_epoch=plan.step_in_epoch,
                total_steps=self._length.total_steps,
            )
        )  # fmt: skip
        set_aside_for_end(self._rule, context, self.state)
        total = schedule_total(context, plan, self._length)
        found = await run_step(
            self._rule, plan, self.state, context,
            total_steps=total, prefetcher=self._prefetcher, upcoming=self._upcoming(following) if following else None,
        )  # fmt: skip
        await self._views.written()
        found = await self._conclude(found, total)
        if found.accepted or found.action is Action.UNDECIDED:
            await self._prefetcher.cancel()
        return found

    def _upcoming(self, plan: StepPlan) -> Upcoming:
        """What is known of the next step before this one is decided."""
        context, state = self._context, self.state
        known = context.journal.get(f"schedule total of step {plan.step}")
        skill, predictable = state.current.skill, True
        if plan.step_in_epoch == 0:
            skill, predictable = look_ahead(context, plan.epoch - 1, skill)

        def if_rejected(built: Built) -> list[JsonObject]:
            verdict = GateRecord(action=Action.REJECT)
            entry = buffer_entry(context, plan.step - 1, built, verdict, state.current.gate_score)
            return [*state.buffer, entry] if plan.step_in_epoch else []

        total = int(known.value) if known else self._length.total_steps
        return Upcoming(plan, total, if_rejected, skill, predictable, state.memory.meta_skill)

    async def _conclude(self, found: StepResult, total: int) -> StepResult:
        """Let a step's decision change the state, then its notes, then have its views written. Raises `StopRun`; what
        was decided stands then and has its record."""
        context, digest = self._context, None
        self.state = self.state.learned(found.rollouts)
        if found.decision is not None:
            before = self.state.current.gate_score
            self.state = self.state.after(found.decision)
            digest = buffer_entry(context, found.plan.step, found.built, found.decision.record(), before)
        try:
            async for state, notes in try_notes(self._rule, found, self.state, context):
                self.state, found = state, replace(found, notes=notes)
            if digest is not None and found.notes is not None and found.notes.refused:
                digest["rejected_notes"] = list(found.notes.refused)
        finally:
            if digest is not None:
                self.state = replace(self.state, buffer=(*self.state.buffer, digest))
            self._enter(found, digest, total)
        return found

    def _enter(self, found: StepResult, digest: dict[str, JsonValue] | None, total: int) -> None:
        """Enter a step into the history and have its views written."""
        context = self._context
        record = step_record(context, found, self.state)
        tried = direction(context, found, record, digest)
        self.state = replace(self.state, history=(*self.state.history, record)).remembering(
            directions=(*self.state.memory.directions, tried)
        )
        self._views.write(partial(_write, context, self.state, found, record, digest))
        remember_time(context)
        context.budget.tell()
        self._open_step = None
        context.emit(
            StepEnd(
                step=record.step, total_steps=self._length.total_steps, record=record, rate=rate(context, found, total),
                timing=context.timings.of_step(record.step),
            )
        )  # fmt: skip

    async def _close_epoch(self, plan: StepPlan) -> bool:
        """The end of the epoch whose last step is `plan`. True when the target reads another skill than before."""
        context = self._context
        await self._views.written()
        before = without_empty_regions(self.state.current.skill.text)
        set_aside_for_end(self._rule, context, self.state)
        try:
            async for state in end_epoch(self._rule, self.state, context, epoch=plan.epoch, step=plan.step):
                self.state = state
        finally:  # what was decided before a stop stands
            name = f"skills/skill_v{plan.step:04d}.md"
            await asyncio.to_thread(context.run_dir.write, name, self.state.current.skill.text)
            await asyncio.to_thread(write_state, context, self.state)
        return without_empty_regions(self.state.current.skill.text) != before


def _write(
    context: RunContext, state: TrainState, found: StepResult, record: StepRecord, digest: JsonObject | None
) -> None:
    write_step(context.run_dir, found, record, digest)
    context.run_dir.write(f"skills/skill_v{found.plan.step:04d}.md", state.current.skill.text)
    write_state(context, state)
