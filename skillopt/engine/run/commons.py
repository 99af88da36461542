"""What the runs of several seeds have in common, side by side in one process: endpoints, programs, and some answers.

One limiter and one breaker an endpoint, one engine a model and one executor serve all of them. `answers` is the journal
of what was asked once for all of them: the baseline and the initial skill's sealed test, whose keys no seed changes.
Everything else is each run's own, so that the runs stay independent of each other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from skillopt.config import Config
from skillopt.model.local.pool import EnginePool
from skillopt.model.traffic.outage import OutagePolicy
from skillopt.model.traffic.pool import LimiterPool
from skillopt.records.events import Emit
from skillopt.work.executor import Executor


@dataclass(frozen=True)
class Commons:
    """Owned by whoever starts the runs, and closed by them after the last one."""

    pool: LimiterPool
    engines: EnginePool
    executor: Executor
    answers: Path | None = None
    """Only read by a run; None for the run that writes it."""
    before_test: Callable[[], Awaitable[None]] | None = None
    """Awaited before a run reads its sealed test; asks the initial skill's part once for all runs. Raises `StopRun`."""


def endpoint_pool(config: Config, emit: Emit, check: Callable[[], None] | None) -> LimiterPool:
    """The endpoints as a run is configured to meet them. `emit` hears of outages; `check` raises where it is to end."""
    outages = OutagePolicy(seconds=60 * config.train.outage_minutes, emit=emit, check=check)
    return LimiterPool(identical_failures=config.train.circuit_breaker, outages=outages)
