"""Several seeds of one configuration, side by side in one process: one limiter an endpoint, one bill, one verdict.

Below one parent directory each run has its own (`seed_42`, `seed_43`, …), complete like any other run. The parent holds
what was asked once for all (its journal), and in the end `seeds.json`, `report.md` and the chosen `best_skill.md`. The
same call again goes on, whatever ended it; more seeds may be added later. Caps hold over all runs together.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.api.runs.prepared import Prepared
from skillopt.api.runs.training import Ended, Training
from skillopt.api.runs.watching import watched
from skillopt.config import BudgetSection, Config, Resolved, fingerprint_fields
from skillopt.config.derived import rule_name
from skillopt.core.aio import gather_all
from skillopt.core.errors import ConfigError, RunDirError, SkillOptError, StopRun
from skillopt.core.hashing import digest
from skillopt.engine.asked_once import AskedOnce
from skillopt.engine.joint import SeedRun, together
from skillopt.engine.run.commons import Commons, endpoint_pool
from skillopt.engine.run.context import metric_of
from skillopt.engine.run.executor import create_executor
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import SEVERAL, OutputDirectory, seeds_place
from skillopt.engine.run.prepare import Work, load_work
from skillopt.engine.run.telling.events import Events, Observer
from skillopt.forecast.plan import plan_of
from skillopt.model.local.pool import EnginePool
from skillopt.records.beside.seeds import SEEDS_FILE, SeedsSummary
from skillopt.records.directory import JOURNAL
from skillopt.records.events import Notice
from skillopt.records.reading import BEST_SKILL, INITIAL_SKILL, Run
from skillopt.report.seeds import render_seeds
from skillopt.store.atomic import write_json, write_text
from skillopt.trackers.choose import trackers_of

MOST = 64
Watch = Callable[["int | None"], Sequence[Observer]]
"""The observers of one seed's run; of None, of what is asked once for all runs."""


@dataclass(frozen=True)
class SeedsEnded:
    """What the runs came to. `stopped` says why the first one that did not end in full stopped; `by_fault` is true
    when that was a fault, not a cap or patience that was asked for. `late` are the observers' faults that no notice
    has told."""

    summary: SeedsSummary
    stopped: str | None
    by_fault: bool
    faults: tuple[str, ...]
    late: tuple[str, ...]


@dataclass(frozen=True)
class SeedsTraining(Prepared):
    """Several runs that could begin; the directory is their parent."""

    seeds: tuple[int, ...]

    async def run(
        self, directory: Path, watch: Watch, *, replay: bool = False, allow_change: bool = False
    ) -> SeedsEnded:
        """All runs in a claimed parent directory, and their joint result. Raises one-line errors; what stops in order
        is in the result."""
        try:
            async with (
                watched(watch(None)) as events,
                self._common(directory, events, replay=replay, allow=allow_change) as (once, commons),
            ):
                shares = once.shares(self.seeds)
                given = replace(self.given, commons=commons)
                runs = [self._of(directory, seed, given, shares[seed]) for seed in self.seeds]
                ended = await gather_all(
                    [
                        _ended(one, watch(seed), replay=replay, allow_change=allow_change)
                        for seed, one in zip(self.seeds, runs, strict=True)
                    ]
                )
                once.finish()
        except BaseException:
            self.place.discard_unpaid(directory)
            raise
        if all(isinstance(each, SkillOptError) for each in ended):
            raise next(each for each in ended if isinstance(each, SkillOptError))
        return self._conclude(directory, ended, events)

    @asynccontextmanager
    async def _common(
        self, directory: Path, events: Events, *, replay: bool, allow: bool
    ) -> AsyncGenerator[tuple[AskedOnce, Commons]]:
        """The parent's run context with the baseline asked, and what the runs share."""
        config = self.resolved.config
        executor = create_executor(config.executor)
        commons = Commons(endpoint_pool(config, events, self.given.check), EnginePool(), executor)
        try:
            async with open_run_context(
                self.resolved, out_root=directory, emit=events, need="eval", replay=replay,
                given=replace(self.given, commons=commons),
            ) as context:  # fmt: skip
                identity = seeds_identity(self.work)
                known = context.journal.get_meta(SEVERAL)
                if known not in (None, identity) and not allow:
                    raise RunDirError(
                        f"{directory} holds runs of another configuration, data or initial skill",
                        hint="use another env.out_root, or --allow-config-change to continue here anyway",
                    )
                context.journal.set_meta(SEVERAL, identity)
                once = AskedOnce(context, self.work.initial)
                try:
                    await once.baseline()
                except StopRun as error:  # each run meets the same fault and ends in order, with its own words
                    events(Notice(text=f"the baseline was not asked once for all runs: {error}"))
                yield once, replace(commons, answers=directory / JOURNAL, before_test=once.test)
        finally:
            await executor.aclose()

    def _of(self, directory: Path, seed: int, given: Given, budget: BudgetSection) -> Training:
        """The run of one seed."""
        place = directory / folder(seed)
        config = self.resolved.config
        changed = config.model_copy(
            update={
                "train": config.train.model_copy(update={"seed": seed}),
                "env": config.env.model_copy(update={"out_root": str(place)}),
                "budget": budget,
            }
        )
        resolved = replace(self.resolved, config=changed)
        return Training(resolved, given, replace(self.work, config=changed), OutputDirectory(place), self.plan,
                        trackers_of(changed.tracking))  # fmt: skip

    def _conclude(self, directory: Path, ended: Sequence[Ended | SkillOptError], events: Events) -> SeedsEnded:
        """Judge the runs together, and write what the parent directory holds."""
        config = self.resolved.config
        runs = [
            SeedRun(seed, folder(seed), _run_at(directory / folder(seed)), _fault(one))
            for seed, one in zip(self.seeds, ended, strict=True)
        ]
        metric = metric_of(config)
        summary = together(runs, metric, alpha_of(config))
        chosen = next((each for each in runs if each.seed == summary.chosen), None)
        best = chosen.run.best if chosen is not None and chosen.run is not None else self.work.initial
        write_text(directory / INITIAL_NAME, self.work.initial.text)
        write_text(directory / BEST_SKILL, best.text)
        write_text(directory / "report.md", render_seeds(summary))
        write_json(directory / SEEDS_FILE, summary.to_json())
        stopped = next((row.stopped for row in summary.rows if row.stopped), None)
        by_fault = any(_by_fault(one) for one in ended)
        own = [one for one in ended if isinstance(one, Ended)]
        faults = dict.fromkeys([*events.faults, *(fault for one in own for fault in one.faults)])
        late = dict.fromkeys([*events.late, *(fault for one in own for fault in one.late)])
        return SeedsEnded(summary, stopped, by_fault, tuple(faults), tuple(late))


INITIAL_NAME = "initial_skill.md"


def _fault(one: Ended | SkillOptError) -> str:
    return str(one) if isinstance(one, SkillOptError) else ""


def _by_fault(one: Ended | SkillOptError) -> bool:
    return isinstance(one, SkillOptError) or one.result.stopped_by not in (None, "patience", "budget")


def folder(seed: int) -> str:
    """Name of a seed's run directory in the parent."""
    return f"seed_{seed}"


def _run_at(directory: Path) -> Run | None:
    return Run(directory) if (directory / INITIAL_SKILL).is_file() else None


async def _ended(
    one: Training, observers: Sequence[Observer], *, replay: bool, allow_change: bool
) -> Ended | SkillOptError:
    """One run to its end; what one raises does not end the others."""
    directory = Path(one.resolved.config.env.out_root)
    try:
        return await one.run(directory, observers, replay=replay, allow_change=allow_change)
    except SkillOptError as error:
        return error


def alpha_of(config: Config) -> float | None:
    """The level of the runs' proofs; None under a rule that has no one proof at the end."""
    return config.evaluation.gate_alpha if rule_name(config) in ("proof", "factorial") else None


def seeds_identity(work: Work) -> str:
    """What makes two calls the same runs: what can change an answer, items, skill. The number of seeds does not."""
    items = {name: digest([item.digest for item in work.splits.named(name)]) for name in ("train", "selection", "test")}
    return digest([fingerprint_fields(work.config)["fixed"], work.env.version, items, work.initial.hash])


def prepare_seeds(resolved: Resolved, count: int, given: Given = NOTHING, *, replay: bool = False) -> SeedsTraining:
    """Load and check. Raises `ConfigError`, `DataError` or `RunDirError`; spends and writes nothing."""
    if not 1 <= count <= MOST:
        raise ConfigError(f"--seeds {count}: give a number from 1 to {MOST}")
    trackers_of(resolved.config.tracking)  # a missing extra is told now
    work = load_work(resolved.config, given)
    first = resolved.config.train.seed
    place = seeds_place(work, seeds_identity(work), replay=replay)
    seeds = tuple(range(first, first + count))
    fewer = sorted(path.name for path in place.directory.glob("seed_*") if path.name not in map(folder, seeds))
    if fewer:
        raise RunDirError(
            f"{place.directory} holds more runs than --seeds {count} asks for ({', '.join(fewer)})",
            hint="name as many seeds as there are: a run that is left out after it was seen makes the rest look better",
        )
    return SeedsTraining(resolved, given, work, place, plan_of(work, place.directory, seeds=count), seeds)
