"""The batch plan: which items each step sees, a pure function of (items, seed, epoch).

Published rule (pipeline §2): shuffle with `Random(seed + 1000·epoch)`, cut consecutively; slice i has the batch seed
`seed + 1000·epoch + i + 1`; a slice that would be empty is a prefix of the shuffled list reshuffled with its batch
seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.config.derived import steps_per_epoch
from skillopt.core.item import Item
from skillopt.core.streams import numbered, shuffled


@dataclass(frozen=True)
class Batch:
    """One slice of an epoch. `seed` drives everything that is drawn for it."""

    seed: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class StepPlan:
    """Where one step stands. `step` and `epoch` count from 1, `step_in_epoch` from 0."""

    step: int
    epoch: int
    step_in_epoch: int
    batches: tuple[Batch, ...]

    @property
    def origin(self) -> str:
        """The tag of a skill that this step produces."""
        return f"step_{self.step:04d}"


def epoch_batches(items: Sequence[Item], *, epoch: int, seed: int, batch_size: int, accumulation: int) -> list[Batch]:
    """All slices of one epoch, in order."""
    base = seed + 1000 * epoch
    order = shuffled(items, numbered(base))
    count = steps_per_epoch(len(items), batch_size, accumulation) * accumulation
    batches: list[Batch] = []
    for i in range(count):
        batch_seed = base + i + 1
        part = order[i * batch_size : (i + 1) * batch_size]
        if not part:
            part = shuffled(order, numbered(batch_seed))[:batch_size]
        batches.append(Batch(batch_seed, tuple(part)))
    return batches


def epoch_steps(
    items: Sequence[Item], *, epoch: int, first_step: int, seed: int, batch_size: int, accumulation: int
) -> list[StepPlan]:
    """The steps of one epoch; `first_step` is the number of its first step."""
    batches = epoch_batches(items, epoch=epoch, seed=seed, batch_size=batch_size, accumulation=accumulation)
    return [
        StepPlan(first_step + n, epoch, n, tuple(batches[n * accumulation : (n + 1) * accumulation]))
        for n in range(len(batches) // accumulation)
    ]
