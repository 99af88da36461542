"""What of the executor `ray` needs no Ray: the line that names the extra, fences, the order of places, fair shares."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, cast

import pytest

from skillopt.agents.settings import AgentSettings
from skillopt.config import ExecutorSection
from skillopt.config.executor_only import executor_section
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, as_object
from skillopt.engine.run.agent_keys import on_a_cluster, proxy_address, uses_proxy
from skillopt.engine.run.doctor_nodes import node_check
from skillopt.engine.run.executor import agents_at_once, create_executor
from skillopt.executors.ray import crew as crew_room
from skillopt.executors.ray import worker as worker_room
from skillopt.executors.ray.actor import NodeWorker
from skillopt.executors.ray.code import own_code
from skillopt.executors.ray.crew import Crew, to_dismiss
from skillopt.executors.ray.executor import RayExecutor
from skillopt.executors.ray.hiring import fault_of
from skillopt.executors.ray.settings import RaySettings
from skillopt.executors.ray.shares import fair
from skillopt.executors.ray.worker import Gone, Worker
from skillopt.harnesses.codex import Codex
from skillopt.harnesses.gemini import Gemini
from skillopt.harnesses.job import Endpoint
from skillopt.harnesses.pi import Pi
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from skillopt.work.unit import Needs, Work


class Library:
    """Stands for Ray: what it was told to kill."""

    class exceptions:
        RayError = RuntimeError

    def __init__(self) -> None:
        self.killed: list[object] = []

    def kill(self, actor: object, *, no_restart: bool) -> None:
        assert no_restart
        self.killed.append(actor)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    one = Library()
    monkeypatch.setattr(worker_room, "ray", lambda: one)
    return one


class Later:
    """A method whose answer a test gives."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def remote(self, *arguments: object) -> Awaitable[object]:
        return self.answer


def test_where_ray_is_not_installed_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "ray" else real(name, *rest))
    with pytest.raises(
        ConfigError, match=r"needs Ray, which is not installed. pip install 'skillopt\[ray\]'"
    ) as caught:
        create_executor(ExecutorSection(kind="ray"))
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
async def test_nothing_of_ray_is_imported_here() -> None:
    executor = create_executor(ExecutorSection(kind="ray", ray_address="nowhere:1"))
    assert isinstance(executor, RayExecutor) and executor.apart
    await executor.aclose()
    assert "ray" not in sys.modules


async def test_an_answer_that_comes_after_the_worker_was_given_up_is_refused(library: Library) -> None:
    worker, method = Worker(object(), 1.0, 100.0), Later()  # type: ignore[arg-type]
    asking = asyncio.ensure_future(worker.call(method))
    await asyncio.sleep(0)
    worker.give_up("gave no sign of life")
    with pytest.raises(Gone, match="gave no sign of life"):
        await asking
    assert (worker.refused, worker.is_over) == (0, False)
    method.answer.set_result({"value": {"hard": 1.0}})
    for _ in range(5):
        await asyncio.sleep(0)
    assert (worker.refused, worker.is_over) == (1, True)
    assert library.killed == [worker.handle]
    with pytest.raises(Gone):
        await worker.call(method)


async def test_what_ray_raises_gives_the_worker_up(library: Library) -> None:
    worker, method = Worker(object(), 1.0, 100.0), Later()  # type: ignore[arg-type]
    method.answer.set_exception(RuntimeError("the actor died\nbecause its node did"))
    with pytest.raises(Gone, match="RuntimeError: the actor died because its node did"):
        await worker.call(method)
    assert not worker.alive and library.killed


@pytest.fixture
def hired(library: Library, monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """A cluster of two nodes with one core each, whose actors begin at once."""
    found: list[Worker] = []

    def hire(settings: RaySettings) -> Worker:
        worker = Worker(object(), 1.0, 1000.0)  # type: ignore[arg-type]
        worker.node = f"node-{len(found) % 2}"
        found.append(worker)
        return worker

    async def begun(worker: Worker, settings: RaySettings) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(crew_room, "hire", hire)
    monkeypatch.setattr(crew_room, "begun", begun)
    monkeypatch.setattr(crew_room.cluster, "cores_of_cluster", lambda: 2.0)
    return found


async def closed(crew: Crew, hired: list[Worker]) -> None:
    for worker in hired:
        worker.give_up("the test is over")
    await crew.aclose()


async def test_places_are_given_in_the_order_of_asking(hired: list[Worker]) -> None:
    crew, order = Crew(RaySettings()), list[int]()

    async def unit(number: int, needs: Needs) -> None:
        worker = await crew.place(needs)
        order.append(number)
        await asyncio.sleep(0)
        crew.give_back(worker, needs)

    await asyncio.gather(*(unit(number, Needs(cpu=1.0 if number % 3 else 0.25)) for number in range(40)))
    assert order == list(range(40))
    assert len(hired) == 2, "no more workers than cores"
    await closed(crew, hired)


async def test_many_that_only_wait_share_a_worker_within_its_memory(hired: list[Worker]) -> None:
    crew, needs = Crew(RaySettings(slots=1)), Needs(cpu=0.0, memory_mb=300)
    held = [await crew.place(needs) for _ in range(3)]
    fourth = asyncio.ensure_future(crew.place(needs))
    await asyncio.sleep(0.01)
    assert len(set(held)) == 1 and not fourth.done()
    crew.give_back(held[0], needs)
    assert await fourth is held[0]
    await closed(crew, hired)


async def test_a_unit_that_was_lost_goes_to_another_node(hired: list[Worker]) -> None:
    crew, needs = Crew(RaySettings()), Needs()
    both = [await crew.place(needs), await crew.place(needs)]
    for worker in both:
        crew.give_back(worker, needs)
    for lost in ("node-0", "node-1"):
        worker = await crew.place(needs, frozenset([lost]))
        assert worker.node != lost
        crew.give_back(worker, needs)
    await closed(crew, hired)


async def test_who_waits_and_is_cancelled_takes_no_place(hired: list[Worker]) -> None:
    crew, needs = Crew(RaySettings(slots=1)), Needs()
    held = await crew.place(needs)
    waiting = [asyncio.ensure_future(crew.place(needs)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    waiting[1].cancel()
    crew.give_back(held, needs)
    assert await waiting[2] is held
    await closed(crew, hired)


async def test_a_node_that_may_not_be_used_stops_all_who_wait(
    hired: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(worker: Worker, settings: RaySettings) -> None:
        raise ConfigError("node b has skillopt 0.1, and this run is skillopt 0.3")

    monkeypatch.setattr(crew_room, "begun", refused)
    crew = Crew(RaySettings())
    found = await asyncio.gather(*(crew.place(Needs()) for _ in range(3)), return_exceptions=True)
    assert {str(one) for one in found} == {"node b has skillopt 0.1, and this run is skillopt 0.3"}
    with pytest.raises(ConfigError):
        await crew.place(Needs())
    await closed(crew, hired)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"version": "", "fault": "No module named 'skillopt'"}, "node b has no skillopt: No module named 'skillopt'"),
        ({"version": "0.0.1", "code": "aaa"}, r"skillopt 0.0.1 \(code aaa\), and this run is skillopt"),
        ({"code": "aaa"}, r"\(code aaa\)"),
        ({"token": False}, "asks for no token"),
    ],
)
def test_what_is_demanded_of_a_node(said: dict[str, Any], words: str) -> None:
    version, code = own_code()
    good = {"host": "b", "version": version, "code": code, "token": True}
    settings = RaySettings(address="head:6379")
    assert fault_of(good, settings) is None
    with pytest.raises(ConfigError, match=words):
        raise fault_of({**good, **said}, settings) or AssertionError("it was accepted")
    if said == {"token": False}:
        assert fault_of({**good, **said}, RaySettings(address="head:6379", insecure=True)) is None


@pytest.mark.parametrize(
    ("ends", "said"), [(ValueError("odd"), "ValueError"), (SystemExit(3), ""), (KeyboardInterrupt(), "")]
)
def test_the_end_of_an_actor_is_no_failure_of_its_unit(ends: BaseException, said: str) -> None:
    class Ending(InlineExecutor):
        async def run(self, work: Work) -> JsonObject:
            raise ends

    worker = NodeWorker()
    worker._executor = cast("LocalExecutor", Ending())
    message: JsonObject = {
        "do": "run", "target": "a:b", "payload": {}, "files": {}, "version": "", "deadline_s": 5.0, "open_s": None,
    }  # fmt: skip
    if said:
        assert as_object(asyncio.run(worker.do(1, message))["error"])["type"] == said
    else:
        with pytest.raises(type(ends)):
            asyncio.run(worker.do(1, message))


@pytest.mark.parametrize(
    ("wants", "total", "shares"),
    [
        ({"a": 10}, 4, {"a": 4}),
        ({"a": 10, "b": 10}, 4, {"a": 2, "b": 2}),
        ({"a": 10, "b": 1, "c": 10}, 9, {"a": 4, "b": 1, "c": 4}),
        ({"a": 10, "b": 10, "c": 10}, 2, {"a": 1, "b": 1, "c": 1}),
        ({"a": 0, "b": 5}, 4, {"a": 1, "b": 4}),
    ],
)
def test_shares_are_fair(wants: dict[str, int], total: int, shares: dict[str, int]) -> None:
    got = fair(wants, total)
    assert got == shares or (wants["a"] == 0 and got["b"] >= total - 1)


def test_settings_cross_to_the_child_process() -> None:
    given = RaySettings(address="a:1", labels={"disk": "fast"}, runtime_env={"env_vars": {"A": "1"}}, slots=3)
    assert RaySettings.from_json(given.to_json()) == given


def test_every_key_of_the_section_reaches_the_cluster() -> None:
    section = executor_section(
        ["executor.kind=ray", "executor.ray_address=h:1", "executor.ray_namespace=n", "--executor_slots", "7",
         "executor.ray_cpus_per_worker=0.5", "executor.ray_memory_mb=900", "executor.ray_insecure=true",
         "executor.ray_labels={disk: fast}", "executor.ray_runtime_env={working_dir: .}",
         "executor.ray_start_seconds=9", "executor.lost_after_seconds=8"]
    )  # fmt: skip
    from skillopt.engine.run.executor import ray_settings

    assert ray_settings(section) == RaySettings(
        address="h:1", namespace="n", runtime_env={"working_dir": "."}, labels={"disk": "fast"}, insecure=True,
        cpus_per_worker=0.5, memory_mb=900, start_seconds=9, slots=7, lost_after_s=8,
    )  # fmt: skip


def test_without_a_configuration_only_the_executors_keys_are_known() -> None:
    with pytest.raises(ConfigError, match="only keys of `executor`"):
        executor_section(["train.batch_size=3"])
    with pytest.raises(ConfigError, match="kind"):
        executor_section(["executor.kind=slurm"])


def test_the_doctor_says_what_a_node_lacks() -> None:
    assert node_check({"host": "b", "fault": "no skillopt", "fix": "install it"}).fix == "install it"
    lacks = node_check({"host": "b", "missing": ["codex"]})
    assert (lacks.state, lacks.found) == ("failed", "it has no codex")
    assert node_check({"host": "b", "free_bytes": 5}).state == "failed"
    cut_off = node_check({"host": "b", "free_bytes": 5 << 30, "reaches": False}, "10.0.0.5:8900")
    assert (cut_off.state, "does not reach this machine at 10.0.0.5:8900" in cut_off.found) == ("failed", True)
    assert node_check({"host": "b", "free_bytes": 5 << 30, "reaches": True}, "10.0.0.5:8900").state == "ok"
    assert node_check({"host": "b", "free_bytes": 5 << 30, "seconds": 0.5}).state == "ok"


async def test_a_run_that_is_never_idle_leaves_its_neighbours_their_part() -> None:
    first, second = (Worker(object(), 1.0, 1000.0) for _ in range(2))  # type: ignore[arg-type]
    unit = Needs(cpu=1.0, memory_mb=1)
    first.take(unit)
    second.take(unit)
    now = first.idle_since
    assert to_dismiss([first, second], 1, now) == []
    (leaving,) = [one for one in (first, second) if one.leaving]
    leaving.give_back(unit)
    assert not leaving.fits(unit), "it would never be idle"
    assert to_dismiss([first, second], 1, now) == [leaving]
    assert to_dismiss([first, second], 2, now) == []  # the share has grown again
    assert leaving.fits(unit)
    assert to_dismiss([first, second], 2, now + 1000.0) == [leaving]


async def test_a_closed_executor_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = RayExecutor(RaySettings())
    await executor.aclose()
    from skillopt.work.errors import WorkerLost

    with pytest.raises(WorkerLost, match="is closed"):
        await executor.run(Work("operator:add"))


KEYED = {"endpoint": Endpoint("http://m/v1", "k")}


@pytest.mark.parametrize(
    ("changes", "agent", "environ", "words"),
    [
        ({}, {"api_key": "k"}, {}, "proxy"),
        ({}, KEYED, {}, "proxy"),
        ({}, {"endpoint": Endpoint("http://m/v1")}, {}, "proxy"),
        ({"ray_address": ""}, {"api_key": "k"}, {}, "proxy"),
        ({}, {"login": Path("/home/me")}, {}, "no proxy can do for it"),
        ({"ray_address": ""}, {"login": Path("/home/me")}, {}, "as it is"),
        ({"kind": "local"}, {"api_key": "k"}, {}, "as it is"),
        ({"credentials": "send"}, {"api_key": "k"}, {}, "in the clear"),
        ({"credentials": "send"}, {"api_key": "k"}, {"RAY_USE_TLS": "1"}, "as it is"),
        ({"credentials": "send", "ray_insecure": True}, {"api_key": "k"}, {}, "as it is"),
        ({"credentials": "send", "ray_address": ""}, {"api_key": "k"}, {}, "as it is"),
        ({"credentials": "send"}, {"login": Path("/home/me")}, {"RAY_USE_TLS": "1"}, "no key that could be sent"),
        ({"credentials": "send"}, {"cli": Pi(), **KEYED}, {"RAY_USE_TLS": "1"}, "keys are sent in no file"),
        ({"credentials": "node"}, {"login": Path("/home/me")}, {}, "login of the node"),
        ({"credentials": "node"}, {"endpoint": Endpoint("http://m/v1")}, {}, "as it is"),
        ({"credentials": "node"}, KEYED, {}, "which nodes would not get"),
        ({"credentials": "node"}, {"cli": Gemini()}, {}, "has no login that a node could hold"),
    ],
)
def test_how_a_program_on_a_cluster_reaches_its_model(
    changes: dict[str, Any], agent: dict[str, Any], environ: dict[str, str], words: str
) -> None:
    section = ExecutorSection(**{"kind": "ray", "ray_address": "head:6379", **changes})
    settings = AgentSettings(**{"cli": Codex(), "environ": {}, **agent})
    if words not in ("proxy", "as it is", "login of the node"):
        with pytest.raises(ConfigError, match=words):
            on_a_cluster(section, settings, environ)
        return
    chosen = on_a_cluster(section, settings, environ)
    assert uses_proxy(section, chosen) == (words == "proxy")
    assert chosen.node_login == (words == "login of the node")
    assert (chosen == settings) == (words != "login of the node")


@pytest.mark.parametrize(
    ("given", "address", "expected"),
    [
        ("", "", ("127.0.0.1", 0)),
        ("", "127.0.0.1:6379", ("127.0.0.1", 0)),
        ("10.0.0.5", "h:1", ("10.0.0.5", 0)),
        ("10.0.0.5:8900", "h:1", ("10.0.0.5", 8900)),
        ("driver.example:8900", "h:1", ("driver.example", 8900)),
        ("fd00::5", "h:1", ("fd00::5", 0)),
        ("[fd00::5]", "h:1", ("fd00::5", 0)),
        ("[fd00::5]:8900", "h:1", ("fd00::5", 8900)),
        ("0.0.0.0", "h:1", "need an address that leads here"),
        ("http://10.0.0.5:8900", "h:1", "is not HOST or HOST:PORT"),
        ("10.0.0.5:99999", "h:1", "is not HOST or HOST:PORT"),
        ("10.0.0.5:", "h:1", "is not HOST or HOST:PORT"),
        ("", "no-such-host.invalid:6379", "no way leads from here"),
    ],
)
def test_where_the_model_proxy_listens(given: str, address: str, expected: object) -> None:
    section = ExecutorSection(kind="ray", ray_address=address, proxy_address=given)
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            proxy_address(section)
    else:
        assert proxy_address(section) == expected


def test_agents_on_a_cluster_are_not_bound_by_the_memory_of_this_machine() -> None:
    assert agents_at_once(10_000, lambda _: None, ExecutorSection(kind="ray", ray_address="h:1")) == 10_000
    assert agents_at_once(10_000, lambda _: None, ExecutorSection(kind="ray")) < 10_000
