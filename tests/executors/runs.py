"""Whole runs of three environments on any executor, for the proofs: own tasks with a Python scorer, the tool loop, and
a game that is played step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import StopRun
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.given import Given
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.executors.ray.executor import RayExecutor
from skillopt.records.directory import JOURNAL
from skillopt.store.journal import Journal
from skillopt.testing.rooms_task import write_config as write_rooms
from skillopt.testing.toy_task import write_data
from skillopt.testing.trees import tree
from tests.executors.cluster import TwoNodes
from tests.work.test_runs import SCORER, ToolCaller, configured

ENVIRONMENTS = ("scored", "tools", "rooms")
Disturb = Callable[[RunContext], Awaitable[None]]


def make_project(place: Path) -> Path:
    """Items and a scorer that notes who was asked."""
    write_data(place / "data", {"train": 8, "val": 6, "test": 4})
    (place / "toy_scorer.py").write_text(SCORER)
    return place


def config_of(project: Path, environment: str) -> Path:
    """The configuration of one environment."""
    if environment == "rooms":
        more = {"evaluation__prefetch": False, "executor__attempts": 20, "env__train_worlds": 6}
        return write_rooms(project / "rooms.yaml", env__selection_worlds=4, env__test_worlds=4, **more)
    return configured(project, environment, "inline")


def overrides(out: Path, kind: str, cluster: TwoNodes | None, more: Sequence[str] = ()) -> list[str]:
    address = [f"executor.ray_address={cluster.address}"] if cluster is not None else []
    return [f"env.out_root={out}", f"executor.kind={kind}", "executor.slots=2", *address, *more]


@asynccontextmanager
async def opened(
    project: Path, environment: str, name: str, kind: str, cluster: TwoNodes | None = None, more: Sequence[str] = ()
) -> AsyncGenerator[RunContext]:
    given = Given(backends={"target": ToolCaller()}) if environment == "tools" else Given()
    resolved = load_config(
        config_of(project, environment),
        overrides=parse_overrides(overrides(project / name, kind, cluster, more)),
        environ={},
        env_schemas=settings_schemas(),
    )
    async with open_run_context(resolved, out_root=project / name, emit=Events(), given=given) as context:
        yield context


async def run(
    project: Path,
    environment: str,
    name: str,
    kind: str,
    cluster: TwoNodes | None = None,
    *,
    disturb: Disturb | None = None,
    more: Sequence[str] = (),
    may_stop: bool = False,
) -> int:
    """Train, while something is done to the machines. Returns how many units were repeated."""
    async with opened(project, environment, name, kind, cluster, more) as context:
        disturbing = asyncio.ensure_future(disturb(context)) if disturb is not None else None
        try:
            await train(context)
        except StopRun:
            if not may_stop:
                raise
        finally:
            if disturbing is not None:
                disturbing.cancel()
                with suppress(asyncio.CancelledError):
                    await disturbing
        return context.executor.repeated if isinstance(context.executor, RayExecutor) else 0


def result(project: Path, name: str) -> dict[str, bytes]:
    """All views of a run; which executor it had is said in its configuration and nowhere else."""
    found = tree(project / name, without=("config.yaml", "config.json"))
    assert len(found) > 40, "nothing was written: the comparison shows nothing"
    return found


def entries(project: Path, name: str) -> list[tuple[str, str]]:
    """What the run's journal holds of work and calls, each once."""
    journal = Journal.open(project / name / JOURNAL)
    try:
        return sorted((e.kind, e.key) for e in journal.entries())
    finally:
        journal.close()
