"""Single units on a cluster of two nodes: cancellation, losses, wrong nodes, two runs at once (proofs 7, 9 and 10)."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from skillopt.config import ExecutorSection
from skillopt.core.errors import ConfigError
from skillopt.engine.run.doctor_nodes import check_nodes
from skillopt.executors.ray.executor import RayExecutor
from skillopt.executors.ray.settings import RaySettings
from skillopt.harnesses.launch import Launch
from skillopt.work.errors import WorkerLost, WorkFailed
from skillopt.work.programs import run_program
from skillopt.work.registry import Handler, Registry
from skillopt.work.unit import Needs, Work
from tests.executors.cluster import ROOT, SECOND, TwoNodes, until
from tests.work.processes import lives, told

pytestmark = pytest.mark.ray
HERE = "tests.work.handlers"
WAITS = Registry({"waits": Handler(f"{HERE}:waits_with_program", shared=True)})


@pytest.mark.parametrize("name", [f"{HERE}:naps_with_program", "waits"])
async def test_what_is_cancelled_has_ended_on_its_node(cluster: TwoNodes, tmp_path: Path, name: str) -> None:
    executor = RayExecutor(RaySettings(address=cluster.address), registry=WAITS)
    path = tmp_path / "pid"
    running = asyncio.ensure_future(executor.run(Work(name, {"path": str(path)})))
    program = await asyncio.to_thread(told, path)
    assert lives(program)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not lives(program), "the program outlived its cancellation"
    assert (await executor.run(Work(f"{HERE}:double", {"n": 1})))["twice"] == 2, "its place is free"
    await executor.aclose()


async def test_a_passed_deadline_ends_the_program(executor: RayExecutor, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with pytest.raises(WorkFailed) as caught:
        await executor.run(Work(f"{HERE}:naps_with_program", {"path": str(path)}, deadline_s=2.0))
    assert caught.value.kind == "deadline"
    assert not lives(told(path))


async def test_closing_ends_what_runs(cluster: TwoNodes, tmp_path: Path) -> None:
    executor = RayExecutor(RaySettings(address=cluster.address))
    path = tmp_path / "pid"
    running = asyncio.ensure_future(executor.run(Work(f"{HERE}:naps_with_program", {"path": str(path)})))
    program = await asyncio.to_thread(told, path)
    await executor.aclose()
    assert not lives(program)
    running.cancel()
    await asyncio.wait([running])
    assert until(lambda: not cluster.workers())


async def test_a_unit_whose_worker_dies_each_time_is_lost_after_its_attempts(executor: RayExecutor) -> None:
    with pytest.raises(WorkerLost, match=r"tried 3 times.*out of memory, said the library"):
        await executor.run(Work(f"{HERE}:dies"))
    assert executor.repeated == 3


async def test_a_unit_is_repeated_until_it_lives(executor: RayExecutor, tmp_path: Path) -> None:
    payload = {"path": str(tmp_path / "count"), "deaths": 2}
    assert await executor.run(Work(f"{HERE}:dies_until", payload)) == {"attempts": 3}


async def test_a_session_whose_worker_dies_is_lost_and_never_repeated(executor: RayExecutor) -> None:
    async with executor.session(Work(f"{HERE}:counter", {"start": 1})) as session:
        assert (await session.step({"add": 1}))["value"] == 2
        with pytest.raises(WorkerLost):
            await session.step({"die": True})
        with pytest.raises(WorkerLost):
            await session.step({"add": 1})


async def test_a_program_runs_on_a_node_with_its_directory(executor: RayExecutor, tmp_path: Path) -> None:
    (tmp_path / "place" / "work").mkdir(parents=True)
    launch = Launch(("sh", "-c", "echo made > file; pwd"), {"PATH": os.environ["PATH"]}, tmp_path / "place" / "work")
    done = await run_program(executor, launch, tmp_path / "place" / "streams", needs=Needs(0.0, 10), seconds=60)
    assert done.exit_code == 0 and (tmp_path / "place" / "work" / "file").read_text() == "made\n"


async def test_a_missing_program_is_named(executor: RayExecutor, tmp_path: Path) -> None:
    (tmp_path / "place" / "work").mkdir(parents=True)
    launch = Launch(("no-such-agent",), {"PATH": "/bin"}, tmp_path / "place" / "work")
    with pytest.raises(FileNotFoundError):
        await run_program(executor, launch, tmp_path / "place" / "streams", needs=Needs(0.0, 10), seconds=60)
    nodes = await executor.nodes(["sh", "no-such-agent"])
    assert [node["missing"] for node in nodes] == [["no-such-agent"]] * 2


async def test_every_node_does_a_unit(cluster: TwoNodes, executor: RayExecutor) -> None:
    nodes = await executor.nodes()
    assert sorted(str(node["address"]) for node in nodes) == sorted([cluster.head, SECOND])
    assert [node.get("fault", "") for node in nodes] == ["", ""]


async def test_the_doctor_asks_each_node_for_the_program_and_the_way_to_the_proxy(cluster: TwoNodes) -> None:
    section = ExecutorSection(kind="ray", ray_address=cluster.address)
    checks = [check async for check in check_nodes(section, ["sh"])]
    assert [check.state for check in checks] == ["ok"] * 3, checks
    executor = RayExecutor(RaySettings(address=cluster.address))
    nodes = await executor.nodes(["sh"], "127.0.0.1:1")
    await executor.aclose()
    assert [(node["reaches"], node["missing"]) for node in nodes] == [(False, [])] * 2


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no-such-host.invalid:6379"])
async def test_an_address_where_nobody_is_is_one_line(cluster: TwoNodes, address: str) -> None:
    executor = RayExecutor(RaySettings(address=address, start_seconds=120))
    with pytest.raises(
        ConfigError, match=f"the Ray cluster at {address} cannot be used: nobody answers there"
    ) as caught:
        await executor.run(Work(f"{HERE}:double", {"n": 1}))
    assert "\n" not in str(caught.value)
    await executor.aclose()


async def test_a_cluster_without_a_token_is_refused(needs_ray: None, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = TwoNodes(token=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    try:
        executor = RayExecutor(RaySettings(address=nodes.address))
        with pytest.raises(ConfigError, match="asks for no token"):
            await executor.run(Work(f"{HERE}:double", {"n": 1}))
        await executor.aclose()
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        executor = RayExecutor(RaySettings(address=nodes.address, insecure=True))
        assert (await executor.run(Work(f"{HERE}:double", {"n": 1})))["twice"] == 2
        await executor.aclose()
    finally:
        nodes.stop()


async def test_a_node_with_another_version_is_refused_with_both_numbers(
    needs_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "skillopt", tmp_path / "skillopt", ignore=shutil.ignore_patterns("__pycache__"))
    front = tmp_path / "skillopt" / "__init__.py"
    front.write_text(front.read_text().replace('__version__ = "', '__version__ = "9.9.'))
    nodes = TwoNodes(second={"PYTHONPATH": str(tmp_path)})
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")  # Ray puts the driver's directory on the path of every node, before its own
    for name, value in nodes.access.items():
        monkeypatch.setenv(name, value)
    try:
        executor = RayExecutor(RaySettings(address=nodes.address))
        naps = [executor.run(Work(f"{HERE}:nap", {"path": str(tmp_path / str(n)), "seconds": 3})) for n in range(4)]
        found = await asyncio.gather(*naps, return_exceptions=True)
        faults = {str(one) for one in found if isinstance(one, ConfigError)}
        assert len(faults) == 1 and "has skillopt 9.9." in faults.pop()
        named = {str(node["address"]): str(node.get("fault", "")) for node in await executor.nodes()}
        assert "9.9." in named[SECOND] and named[nodes.head] == ""
        await executor.aclose()
    finally:
        nodes.stop()


async def test_two_runs_share_a_cluster(cluster: TwoNodes, tmp_path: Path) -> None:
    """The first has both workers; once the second asks, each has one."""
    first, second = (RayExecutor(RaySettings(address=cluster.address)) for _ in range(2))
    stop = asyncio.Event()

    async def busy(executor: RayExecutor, who: str) -> None:
        while not stop.is_set():
            await executor.run(Work(f"{HERE}:nap", {"path": str(tmp_path / who), "seconds": 0.2}))

    async def workers(executor: RayExecutor) -> int:
        return len(await workers_of(executor))

    async def both(wanted: tuple[int, int]) -> None:
        while (await workers(first), await workers(second)) != wanted:
            await asyncio.sleep(0.3)

    tasks = [asyncio.ensure_future(busy(first, f"a{n}")) for n in range(4)]
    try:
        await asyncio.wait_for(both((2, 0)), 120)
        tasks += [asyncio.ensure_future(busy(second, f"b{n}")) for n in range(4)]
        await asyncio.wait_for(both((1, 1)), 120)
    finally:
        stop.set()
        await asyncio.wait(tasks)
        await asyncio.gather(first.aclose(), second.aclose())
    for task in tasks:
        task.result()
    assert until(lambda: not cluster.workers())


async def workers_of(executor: RayExecutor) -> list[object]:
    found = (await executor.facts())["workers"]
    assert isinstance(found, list)
    return found


async def test_many_units_that_wait_run_at_once(cluster: TwoNodes) -> None:
    """A thousand in flight on two workers (proof 5; its times are in `benchmarks/executors.py`)."""
    registry = Registry({"later": Handler(f"{HERE}:later", shared=True)})
    executor = RayExecutor(RaySettings(address=cluster.address), registry=registry)
    units = [executor.run(Work("later", needs=Needs(cpu=0.0, memory_mb=1))) for _ in range(1000)]
    assert await asyncio.gather(*units) == [{"later": True}] * 1000
    await executor.aclose()
