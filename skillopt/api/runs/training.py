"""A training run from a configuration to its result: what the command line and `optimize` both are.

`prepare` loads and checks everything, forecasts, and chooses the directory; it spends and writes nothing. `run` opens
the directory and trains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.api.runs.prepared import Prepared
from skillopt.api.runs.watching import observers_of, tell_notices, watched
from skillopt.config import Resolved
from skillopt.engine.finish import RunResult
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import train_place
from skillopt.engine.run.prepare import load_work
from skillopt.engine.run.telling.events import Observer
from skillopt.engine.trainer import train
from skillopt.forecast.batches import BatchOffer
from skillopt.forecast.bottleneck import bottleneck, machines_of, seconds_of_scoring, way_to_models
from skillopt.forecast.plan import plan_of
from skillopt.forecast.planned import Plan
from skillopt.forecast.range import Range
from skillopt.trackers.base import Tracker
from skillopt.trackers.choose import trackers_of

__all__ = ["BatchOffer", "Ended", "Plan", "Range", "Training", "prepare"]


@dataclass(frozen=True)
class Training(Prepared):
    """A run that could begin."""

    trackers: list[Tracker]

    def bottleneck(self) -> str:
        """What bounds the rollouts, and what more workers would bring. Runs the scorer on a few items; blocking."""
        config, plan = self.resolved.config, self.plan
        mine = [stage for stage in plan.stages if stage.role == "target"]
        rollouts = sum(stage.calls.low for stage in mine)
        target_s = sum(stage.seconds.low + stage.seconds.high for stage in mine) / 2
        score_s = asyncio.run(seconds_of_scoring(self.work.env, self.work.splits.train))
        said = bottleneck(rollouts, target_s, score_s, machines_of(config))
        return "; ".join(filter(None, (said, way_to_models(config))))

    async def run(
        self, directory: Path, observers: Sequence[Observer] = (), *, replay: bool = False, allow_change: bool = False
    ) -> Ended:
        """Train in a claimed directory. Raises one-line errors; a stop in order is in the result."""
        try:
            async with (
                watched([*observers, *observers_of(self.trackers)]) as events,
                open_run_context(
                    self.resolved,
                    out_root=directory,
                    emit=events,
                    need="train",
                    replay=replay,
                    allow_config_change=allow_change,
                    given=self.given,
                ) as context,
            ):
                tell_notices(context, self.trackers)
                result = await train(context)
        except BaseException:
            self.place.discard_unpaid(directory)
            raise
        return Ended(result, tuple(events.faults), tuple(events.late))


@dataclass(frozen=True)
class Ended:
    """How a run ended, which observers failed on the way, and which of these faults no notice has told."""

    result: RunResult
    faults: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def stopped(self) -> str | None:
        """Why it ended early; None when it did not."""
        return self.result.stopped

    @property
    def failed(self) -> bool:
        """Whether a fault ended it; patience, a budget and an order are ends that were asked for."""
        return bool(self.result.stopped) and self.result.stopped_by not in ("patience", "budget", "interrupt")


def prepare(resolved: Resolved, given: Given = NOTHING, *, replay: bool = False) -> Training:
    """Load and check. Raises `ConfigError`, `DataError` or `RunDirError`."""
    work = load_work(resolved.config, given)
    given = replace(given, loaded=(work.env, work.splits))
    place = train_place(work, replay=replay)
    return Training(resolved, given, work, place, plan_of(work, place.directory), trackers_of(resolved.config.tracking))
