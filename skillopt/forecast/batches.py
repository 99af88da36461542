"""What batch APIs make of a run's money and time: both prices, whichever of them is in force.

A set in a batch takes from a minute to as long as is waited for it; sets come one after the other, because each step
depends on the one before. Where no batches are configured the offer is what whole sets (`model.batch: sets`) would
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.config import Config, role_settings
from skillopt.engine.run.batching import GATES, batching
from skillopt.envs.base import Env
from skillopt.forecast.range import Range, total
from skillopt.forecast.workload import StageCalls, Workload

SHORTEST_S = 60.0
"""A batch that is taken up at once and is small."""


@dataclass(frozen=True)
class BatchOffer:
    """Money with and without batches. `waits` are the sets that are waited for one after the other; `used` says whether
    batches are configured, `hours` how long one may take."""

    live: Range
    batched: Range
    waits: int
    hours: float
    used: bool


@dataclass(frozen=True)
class Batched:
    """One stage in batches: calls, the number of sets, and their price as a share of the live one."""

    calls: Range
    waits: int
    share: float


def as_batches(
    config: Config, env: Env, work: Workload, line: StageCalls, calls: Range, share: float, *, offered: bool
) -> Batched | None:
    """A stage as it would be asked in batches; None for one that is asked live. `offered` supposes whole sets where
    nothing is configured."""
    mode = role_settings(config.model, line.role).batch
    stages = batching(config, env, line.role, "sets" if offered and mode == "never" else mode).stages
    if line.stage not in stages:
        return None
    if line.stage in GATES:
        calls = Range(calls.high, calls.high)  # nothing stops early
    epochs = -(-work.total_steps // work.per_epoch)
    return Batched(calls, {"step": work.total_steps, "epoch": epochs}.get(line.when, 1), share)


def offer(config: Config, lines: Sequence[tuple[Range | None, Range | None, int]], *, used: bool) -> BatchOffer | None:
    """(live money, money in batches, sets waited for) of all stages together; None where a price is unknown or batches
    make nothing cheaper."""
    live = [money for money, _, _ in lines if money is not None]
    batched = [money for _, money, _ in lines if money is not None]
    if len(live) < len(lines) or len(batched) < len(lines):
        return None
    with_, without = total(batched), total(live)
    if with_ == without:
        return None
    waits = sum(count for _, _, count in lines)
    return BatchOffer(without, with_, waits, float(config.model.batch_wait_minutes) / 60, used)
