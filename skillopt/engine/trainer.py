"""The loop: baseline, epochs, steps, the end of a run. A deterministic function of (configuration, data, answers).

Resuming is running again: what was paid for returns from the journal, and the same views are written with the same
bytes. There is no other resume path. A run that is stopped by a budget, by patience or by a fault of the provider
still ends in order, with its best skill and, where calls are left, its sealed test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from skillopt.config.derived import steps_per_epoch
from skillopt.core.errors import FatalModelError, PatienceOver, StopRun
from skillopt.core.outcome import Missing
from skillopt.core.regions import without_empty_regions
from skillopt.core.rollout import Rollout
from skillopt.engine.acceptance.decide import settle
from skillopt.engine.batches import StepPlan, epoch_steps
from skillopt.engine.epoch.end import acceptance, end_epoch, look_ahead
from skillopt.engine.epoch.meta_reflect import direction
from skillopt.engine.finish import RunResult, finish
from skillopt.engine.measure import measure
from skillopt.engine.prefetch import Prefetcher
from skillopt.engine.reflection.appendix import flush
from skillopt.engine.run.bill import remember_time
from skillopt.engine.run.budget import Spend
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.opening import check_train_size
from skillopt.engine.state import Measured, TrainState
from skillopt.engine.step import run_step
from skillopt.engine.step_record import lr_history, step_record, write_step
from skillopt.engine.step_result import StepWork, Upcoming
from skillopt.engine.test_reserve import set_aside_for_test
from skillopt.envs.views import write_rollout_dir
from skillopt.gate.alpha import AlphaLedger
from skillopt.optimizer import buffer
from skillopt.optimizer.context import Tally
from skillopt.optimizer.modes import update_mode
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.schedule import unrounded
from skillopt.store.journal import Recorded


@dataclass(frozen=True)
class Length:
    """How long the run is."""

    epochs: int
    steps_per_epoch: int
    accumulation: int

    @property
    def total_steps(self) -> int:
        """T of the schedules."""
        return self.epochs * self.steps_per_epoch


def run_length(context: RunContext) -> Length:
    """Steps of the run; checks a given `train_size` against the data. Raises `ConfigError` naming both."""
    train = context.config.train
    check_train_size(context.config, context.splits)
    per_epoch = steps_per_epoch(len(context.splits.train), train.batch_size, train.accumulation)
    return Length(train.num_epochs, per_epoch, train.accumulation)


def plans(context: RunContext, length: Length) -> Iterator[StepPlan]:
    """All steps of the run, in order."""
    train = context.config.train
    for epoch in range(1, length.epochs + 1):
        yield from epoch_steps(
            context.splits.train,
            epoch=epoch,
            first_step=(epoch - 1) * length.steps_per_epoch + 1,
            seed=train.seed,
            batch_size=train.batch_size,
            accumulation=train.accumulation,
        )


async def train(context: RunContext) -> RunResult:
    """Train and write every artifact. Raises what a user must see; a stop in order is in `RunResult.stopped`."""
    length = run_length(context)
    context.emit(
        "run.start", out_root=str(context.run_dir.root), env=context.env.name, roles=list(context.roles),
        splits={"train": len(context.splits.train), "selection": len(context.selection), "test": len(context.test)},
        total_steps=length.total_steps, epochs=length.epochs, gate_metric=context.metric.name,
        slow_update=acceptance(context),
    )  # fmt: skip
    context.run_dir.write("skills/skill_v0000.md", context.initial.text)
    tally = Tally()
    try:
        state = await baseline(context, tally)
    except FatalModelError:
        raise
    except StopRun as error:
        context.emit("notice", text=f"stopping: {error}")
        state = unmeasured(context, str(error))
        return await finish(context, state, length.total_steps, tally, stopped=error, test=False)
    stopped: StopRun | None = None
    try:
        await run_epochs(context, state, length)
    except StopRun as error:
        stopped = error
        context.emit("notice", text=f"stopping: {error}")
    context.budget.set_aside(Spend())
    if isinstance(stopped, FatalModelError):
        write_state(context, state)
        raise stopped
    return await finish(context, state, length.total_steps, tally, stopped=stopped)


async def baseline(context: RunContext, tally: Tally) -> TrainState:
    """Measure the initial skill on the selection split, on exactly the bytes that training starts from."""
    repeats = context.config.evaluation.repeats
    context.emit("stage.start", stage="baseline", step=None, total=len(context.selection) * repeats)
    with context.timings.measure(None, "baseline"):
        rollouts = await measure(context, context.initial, context.selection, stage="baseline", repeats=repeats)
    measured = Measured(context.initial, tuple(rollouts), context.metric, context.bonus(context.initial))
    score = measured.score
    if score is None or score.coverage < context.config.evaluation.coverage_floor:
        errors = [getattr(r.outcome, "error", "") for r in rollouts]
        first = next((e for e in errors if e), "no error was reported")
        raise StopRun(
            f"only {score.n if score else 0} of {len(rollouts)} selection items could be measured with the initial "
            f"skill; the first error was: {first}"
        )
    count_rollouts(tally, "baseline", rollouts)
    await asyncio.to_thread(write_rollout_dir, context.run_dir.root / "selection_eval_baseline", rollouts)
    context.emit("stage.end", stage="baseline", step=None, hard=score.hard, soft=score.soft, n=score.n,
                 total=score.total, gate_score=measured.gate_score)  # fmt: skip
    state = TrainState(initial=measured, current=measured, best=measured)
    if context.config.evaluation.gate_rule == "paired" and context.config.evaluation.use_gate:
        state.ledger = AlphaLedger.opened(context.config.evaluation.gate_alpha)
    write_state(context, state)
    return state


def unmeasured(context: RunContext, reason: str) -> TrainState:
    """The state of a run that could not even measure its initial skill: every outcome is missing, none is a zero."""
    repeats = range(context.config.evaluation.repeats)
    rollouts = [
        Rollout(item, context.initial.hash, Missing(reason), repeat=k) for item in context.selection for k in repeats
    ]
    measured = Measured(context.initial, tuple(rollouts), context.metric, context.bonus(context.initial))
    return TrainState(initial=measured, current=measured, best=measured)


async def run_epochs(context: RunContext, state: TrainState, length: Length) -> None:
    """All steps. The step buffer is emptied at each epoch start. Raises `StopRun` to end the run in order."""
    todo = list(plans(context, length))
    prefetcher = Prefetcher(context)
    views = Views()
    idle = 0
    try:
        for n, plan in enumerate(todo):
            if plan.step_in_epoch == 0:
                state.buffer.clear()
                state.memory.directions.clear()
                context.emit("epoch.start", epoch=plan.epoch, epochs=length.epochs)
            set_aside_for_test(context, state)
            upcoming = upcoming_step(context, state, todo[n + 1], length) if n + 1 < len(todo) else None
            total = schedule_total(context, plan, length)
            work = await run_step(context, plan, state, total_steps=total, prefetcher=prefetcher, upcoming=upcoming)
            await views.written()
            await conclude(context, state, work, total, length, views)
            if work.accepted or work.action == "undecided":
                await prefetcher.cancel()
            idle = 0 if work.accepted else idle + 1
            patience = context.config.budget.patience
            if patience and idle >= patience:
                raise PatienceOver(f"patience: {idle} steps in a row without an accepted candidate (budget.patience)")
            if plan.step_in_epoch == length.steps_per_epoch - 1 and await close_epoch(context, state, plan, views):
                idle = 0
                await prefetcher.cancel()
    finally:
        await prefetcher.cancel()
        await views.written()


async def close_epoch(context: RunContext, state: TrainState, plan: StepPlan, views: Views) -> bool:
    """The end of the epoch whose last step is `plan`. True when the target reads another skill than before."""
    await views.written()
    before = without_empty_regions(state.current.skill.text)
    set_aside_for_test(context, state)
    try:
        await end_epoch(context, state, epoch=plan.epoch, step=plan.step)
    finally:  # what was decided before a stop stands
        name = f"skills/skill_v{plan.step:04d}.md"
        await asyncio.to_thread(context.run_dir.write, name, state.current.skill.text)
        await asyncio.to_thread(write_state, context, state)
    return without_empty_regions(state.current.skill.text) != before


class Views:
    """The views of the last step, on their way to the disk while the next step has begun. None of them is read back."""

    def __init__(self) -> None:
        self._writing: asyncio.Future[None] | None = None

    def write(self, action: Callable[[], None]) -> None:
        """Begin writing in a worker thread; the step before must have been `written`."""
        self._writing = asyncio.ensure_future(asyncio.to_thread(action))

    async def written(self) -> None:
        """Wait for the disk. Raises what the file system said."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing


def upcoming_step(context: RunContext, state: TrainState, plan: StepPlan, length: Length) -> Upcoming:
    """What is known of the next step before this one is decided."""
    known = context.journal.get(f"schedule total of step {plan.step}")
    skill, predictable = state.current.skill, True
    if plan.step_in_epoch == 0:
        skill, predictable = look_ahead(context, plan.epoch - 1, skill)

    def if_rejected(work: StepWork) -> list[dict[str, Any]]:
        verdict = {"action": "reject", "candidate_gate_score": None, "score_bound": None}
        entry = buffer_entry(context, work, verdict, state.current.gate_score)
        return [*state.buffer, entry] if plan.step_in_epoch else []

    total = int(known.value) if known else length.total_steps
    return Upcoming(plan, total, if_rejected, skill, predictable, state.memory.meta_skill)


def buffer_entry(
    context: RunContext, work: StepWork, verdict: Mapping[str, Any], before: float | None
) -> dict[str, Any]:
    """The step buffer's entry of a step that went to the gate."""
    failures, _ = partition(work.all_rollouts, context.env.pass_threshold)
    proposal = work.proposal
    statuses = proposal.report.statuses if proposal else ()
    return buffer.entry(
        step=work.plan.step,
        verdict=verdict,
        current_score=before,
        n_total=len(work.all_rollouts),
        patterns=buffer.failure_patterns(failures, [g for r in work.reflections[0] for g in r.groups]),
        items=proposal.change.items if proposal else (),
        unmatched=[s.to_json() for s in statuses if s.status.startswith("skipped")],
    )


def schedule_total(context: RunContext, plan: StepPlan, length: Length) -> int:
    """T of the schedule for this step. A step keeps the T it first ran with, however far the run is extended later."""
    fact = Recorded(length.total_steps, kind="fact", stage="schedule", calls=0)
    return int(context.journal.put_now(f"schedule total of step {plan.step}", fact).value)


async def conclude(
    context: RunContext, state: TrainState, work: StepWork, total: int, length: Length, views: Views
) -> None:
    """Let a step's verdict change the state, then its notes, then have its views written. Raises `StopRun`; the
    verdict stands then and has its record."""
    digest: dict[str, Any] | None = None
    state.learn(work.all_rollouts)
    if work.gated is not None and work.proposal is not None:
        before = state.current.gate_score
        settle(state, work.gated, origin=work.plan.origin, step=work.plan.step)
        verdict = work.gated.verdict
        digest = buffer_entry(context, work, verdict.to_json(), before)
        state.buffer.append(digest)
    try:
        await flush(context, state, work)
        if digest is not None and work.flush is not None and work.flush.refused:
            digest["rejected_notes"] = list(work.flush.refused)
    finally:
        enter(context, state, work, digest, total, length, views)


def enter(
    context: RunContext,
    state: TrainState,
    work: StepWork,
    digest: dict[str, Any] | None,
    total: int,
    length: Length,
    views: Views,
) -> None:
    """Enter a step into the history and have its views written."""
    record = step_record(context, work, state)
    state.history.append(record)
    state.memory.directions.append(direction(context, work, record, digest))
    views.write(partial(_write, context, state, work, record, digest))
    remember_time(context)
    context.emit("step.end", record=record, total_steps=length.total_steps, budget=work.budget,
                 **_rate(context, work, total))  # fmt: skip


def _rate(context: RunContext, work: StepWork, total: int) -> dict[str, Any]:
    """What is chosen and who set its budget, for observers: the schedule before rounding, or the optimizer itself."""
    optimizer = context.config.optimizer
    name, real = optimizer.lr_scheduler, None
    if work.lr_decision is not None and work.lr_decision.wish is not None:
        name = "decided by the optimizer"
    else:
        real = unrounded(name, work.plan.step, total, optimizer.learning_rate, optimizer.min_learning_rate)
    noun = update_mode(optimizer.skill_update_mode).noun
    return {"noun": noun, "lr": optimizer.learning_rate, "lr_scheduler": name, "budget_unrounded": real}


def _write(
    context: RunContext, state: TrainState, work: StepWork, record: dict[str, Any], digest: dict[str, Any] | None
) -> None:
    write_step(context.run_dir, work, record, digest)
    context.run_dir.write(f"skills/skill_v{work.plan.step:04d}.md", state.current.skill.text)
    write_state(context, state)


def write_state(context: RunContext, state: TrainState) -> None:
    """History, state and the product. The order does not matter: none of them is read back."""
    context.run_dir.write("history.json", list(state.history))
    context.run_dir.write("runtime_state.json", state.view())
    context.run_dir.write("best_skill.md", state.best.skill.text)
    if decisions := lr_history(state.history):
        context.run_dir.write("lr_history.jsonl", decisions)
