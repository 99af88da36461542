"""Whole runs on a cluster of two nodes: the same directory as in one process, whatever is killed, frozen or cut off.

Proofs 1, 2, 3 and 4 of the specification of many machines (`benchmarks/LOG.md` has the numbers).
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from skillopt.engine.run.context import RunContext
from skillopt.executors.ray.executor import RayExecutor
from skillopt.testing.trees import differences
from tests.executors.cluster import ROOT, SECOND, TwoNodes, kill, until
from tests.executors.runs import ENVIRONMENTS, config_of, entries, make_project, overrides, result, run

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    yield make_project(tmp_path_factory.mktemp("proofs"))
    sys.modules.pop("toy_scorer", None)


@pytest.fixture(scope="module")
def calm(project: Path) -> Path:
    """Each environment once, in one process."""
    for environment in ENVIRONMENTS:
        asyncio.run(run(project, environment, f"{environment}-inline", "inline"))
    return project


def same(project: Path, environment: str, name: str) -> None:
    """The views and the journal of a run are those of the calm one."""
    assert differences(result(project, f"{environment}-inline"), result(project, name)) == []
    assert entries(project, f"{environment}-inline") == entries(project, name)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_directories_are_the_same_inline_local_and_on_a_cluster(
    calm: Path, cluster: TwoNodes, environment: str
) -> None:
    await run(calm, environment, f"{environment}-local", "local")
    same(calm, environment, f"{environment}-local")
    await run(calm, environment, f"{environment}-ray", "ray", cluster)
    same(calm, environment, f"{environment}-ray")


async def test_two_whole_runs_on_one_cluster_are_those_of_one_alone(calm: Path, cluster: TwoNodes) -> None:
    """Proof 10: they share the workers, and neither sees the other."""
    names = {environment: f"{environment}-beside" for environment in ("scored", "tools")}
    await asyncio.gather(*(run(calm, environment, name, "ray", cluster) for environment, name in names.items()))
    for environment, name in names.items():
        same(calm, environment, name)
    assert until(lambda: not cluster.workers()), "something of theirs is left on the nodes"


def killer(cluster: TwoNodes, seed: int, lost: list[int]):
    """Kills processes of ours on the nodes: actors, their worker processes, the guards of those."""
    source = random.Random(seed)

    async def disturb(_: RunContext) -> None:
        while len(lost) < 6:
            await asyncio.sleep(source.uniform(0.05, 0.5))
            if pids := await asyncio.to_thread(cluster.workers):
                pid = source.choice(pids)
                kill([pid])
                lost.append(pid)

    return disturb


async def killed(project: Path, cluster: TwoNodes, environment: str, seed: int) -> int:
    name, lost = f"{environment}-killed-{seed}", list[int]()
    repeated = await run(project, environment, name, "ray", cluster, disturb=killer(cluster, seed, lost))
    same(project, environment, name)
    assert lost, "nothing was killed: the comparison shows nothing"
    assert until(lambda: not cluster.workers()), "something of ours is left on the nodes"
    return repeated


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_directories_are_the_same_when_workers_are_killed(
    calm: Path, cluster: TwoNodes, environment: str
) -> None:
    await killed(calm, cluster, environment, 0)


@pytest.mark.slow_campaign
@pytest.mark.parametrize(("environment", "seed"), [(ENVIRONMENTS[n % 3], n) for n in range(1, 50)])
async def test_directories_are_the_same_when_workers_are_killed_many_times(
    calm: Path, cluster: TwoNodes, environment: str, seed: int
) -> None:
    await killed(calm, cluster, environment, seed)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_a_pool_process_that_is_killed_is_a_lost_worker(calm: Path, cluster: TwoNodes, environment: str) -> None:
    name, seen = f"{environment}-pool", list[int]()

    async def disturb(context: RunContext) -> None:
        executor = context.executor
        assert isinstance(executor, RayExecutor)
        while not await asyncio.to_thread(cluster.workers) or executor.pool is None:
            await asyncio.sleep(0.05)
        seen.append(executor.pool.pid)
        kill(seen)

    await run(calm, environment, name, "ray", cluster, disturb=disturb)
    assert seen
    same(calm, environment, name)


async def test_a_node_that_is_killed_is_done_without(calm: Path, cluster: TwoNodes) -> None:
    seen: list[int] = []

    async def disturb(_: RunContext) -> None:
        while len(await asyncio.to_thread(cluster.tree, SECOND)) < 2:
            await asyncio.sleep(0.05)
        while not await asyncio.to_thread(cluster.pids, "ray::NodeWorker"):
            await asyncio.sleep(0.05)
        seen.extend(cluster.raylet(SECOND))
        kill(seen)

    try:
        await run(calm, "scored", "scored-raylet", "ray", cluster, disturb=disturb)
    finally:
        assert until(lambda: not cluster.raylet(SECOND))
        cluster.start_second()
    assert seen
    same(calm, "scored", "scored-raylet")


async def test_a_frozen_node_is_given_up_and_its_late_answers_are_refused(calm: Path, cluster: TwoNodes) -> None:
    frozen: list[int] = []
    facts: list[object] = []

    async def disturb(context: RunContext) -> None:
        executor = context.executor
        assert isinstance(executor, RayExecutor)
        while len(await asyncio.to_thread(cluster.pids, "ray::NodeWorker")) < 2:
            await asyncio.sleep(0.02)
        frozen.extend(cluster.tree(SECOND))
        kill(frozen, signal.SIGSTOP)
        while executor.repeated == 0:
            await asyncio.sleep(0.05)
        kill(frozen, signal.SIGCONT)
        facts.append(await executor.facts())

    slow = calm / "toy_scorer.py"
    source = slow.read_text()
    try:
        await run(
            calm, "scored", "scored-frozen", "ray", cluster, disturb=disturb, more=["executor.lost_after_seconds=2"]
        )
    finally:
        kill(frozen, signal.SIGCONT)
    assert source == slow.read_text() and frozen
    same(calm, "scored", "scored-frozen")


@pytest.mark.parametrize("how", ["the run", "the control service"])
async def test_a_run_that_was_cut_off_goes_on_to_the_same_end(calm: Path, how: str, needs_ray: None) -> None:
    """With a cluster of its own, because the control service is this cluster's only one."""
    name = f"scored-cut-{how.split()[-1]}"
    nodes = TwoNodes()
    config = config_of(calm, "scored")
    command = [
        sys.executable,
        "-m",
        "skillopt",
        "train",
        "--config",
        str(config),
        *overrides(calm / name, "ray", nodes),
    ]
    (calm / "asked").unlink(missing_ok=True)
    try:
        driver = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **nodes.access}, stdout=-3, stderr=-3)
        assert until(lambda: len(asked(calm)) >= 8, 120), "nothing was scored"
        if how == "the run":
            driver.kill()
            driver.wait()
        else:
            kill(nodes.gcs())
            assert until(lambda: driver.poll() is not None, 240), "it neither ended nor gave up"
        began = time.monotonic()
        assert until(lambda: not nodes.workers()), "something of ours is left on the nodes"
        print(f"\n{how}: nothing of ours left after {time.monotonic() - began:.1f} s, exit code {driver.returncode}")
        if how == "the control service":
            nodes.stop()
            nodes = TwoNodes()
        os.environ.update(nodes.access)
        await run(calm, "scored", name, "ray", nodes)
        same(calm, "scored", name)
    finally:
        driver.kill()
        nodes.stop()


def asked(project: Path) -> list[str]:
    path = project / "asked"
    return path.read_text().split() if path.exists() else []


def test_a_cluster_has_two_nodes(cluster: TwoNodes) -> None:
    assert cluster.raylet(cluster.head) and cluster.raylet(SECOND) and cluster.gcs()
