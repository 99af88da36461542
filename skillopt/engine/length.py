"""How long a run is, and the plan of its steps: a pure function of the configuration and the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillopt.config.derived import steps_per_epoch
from skillopt.engine.batches import Batch, StepPlan, epoch_steps
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.prepare import check_train_size
from skillopt.envs.base import reseeded
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
    """All steps of the run, in order; each batch has its items as its own seed has them."""
    train = context.config.train
    for epoch in range(1, length.epochs + 1):
        for plan in epoch_steps(
            context.splits.train,
            epoch=epoch,
            first_step=(epoch - 1) * length.steps_per_epoch + 1,
            seed=train.seed,
            batch_size=train.batch_size,
            accumulation=train.accumulation,
        ):
            batches = (Batch(batch.seed, reseeded(context.env, batch.items, batch.seed)) for batch in plan.batches)
            yield replace(plan, batches=tuple(batches))


def schedule_total(context: RunContext, plan: StepPlan, length: Length) -> int:
    """T of the schedule for this step. A step keeps the T it first ran with, however far the run is extended later."""
    fact = Recorded(length.total_steps, kind="fact", stage="schedule", calls=0)
    return int(context.journal.put_now(f"schedule total of step {plan.step}", fact).value)
