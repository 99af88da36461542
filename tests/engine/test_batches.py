"""The batch plan of pipeline §2, golden."""

from __future__ import annotations

import pytest

from skillopt.config.derived import steps_per_epoch
from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.engine.batches import epoch_batches, epoch_steps


def items(n: int) -> list[Item]:
    return [Item(f"i{k}") for k in range(n)]


def plan(n: int, **options):
    return [([i.id for i in b.items], b.seed) for b in epoch_batches(items(n), seed=42, **options)]


def test_golden_plan_of_two_epochs():
    assert plan(10, epoch=1, batch_size=4, accumulation=1) == [
        (["i6", "i4", "i1", "i9"], 1043),
        (["i7", "i8", "i0", "i5"], 1044),
        (["i2", "i3"], 1045),
    ]
    assert plan(10, epoch=2, batch_size=4, accumulation=1) == [
        (["i1", "i4", "i6", "i9"], 2043),
        (["i8", "i0", "i7", "i2"], 2044),
        (["i3", "i5"], 2045),
    ]


def test_golden_refill_with_accumulation():
    assert plan(3, epoch=1, batch_size=2, accumulation=3) == [
        (["i1", "i2"], 1043),
        (["i0"], 1044),
        (["i2", "i1"], 1045),
    ]


@pytest.mark.parametrize(("train", "steps"), [(400, 10), (80, 2), (39, 1), (107, 3), (50, 2), (35, 1)])
def test_steps_of_the_default_recipe(train, steps):
    assert steps_per_epoch(train, 40, 1) == steps


def test_steps_group_accumulated_batches_and_number_on():
    steps = epoch_steps(items(10), epoch=2, first_step=4, seed=42, batch_size=2, accumulation=2)
    assert [(s.step, s.step_in_epoch, len(s.batches)) for s in steps] == [(4, 0, 2), (5, 1, 2), (6, 2, 2)]
    assert steps[0].origin == "step_0004"


def test_zero_is_refused():
    with pytest.raises(ConfigError, match="batch_size=0"):
        steps_per_epoch(4, 0, 1)
