"""A run is steered through its control file: pauses hold calls back, a stop ends it in order, caps and width change."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import skillopt
from skillopt.api.steering import order_of, steer
from skillopt.core.errors import BudgetExceeded, ConfigError, Interrupted, RunDirError, TransientModelError
from skillopt.engine.run.spending.budget import Budget, Limits
from skillopt.engine.run.steering import Steering, steered
from skillopt.model.traffic.outage import OutagePolicy
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.traffic.pool import Limits as Widths
from skillopt.model.types import Usage
from skillopt.records.directory import RunDir
from skillopt.records.events import Event, OrderTaken
from skillopt.records.live.control import CONTROL, PULSE, Order, give, read_pulse
from skillopt.testing.toy import toy_item

CALL = {"role": "target", "model": "m", "prompt_tokens": 10, "completion_tokens": 10, "usd": 0.5}


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def steering(tmp_path: Path, told: list[Event]) -> Steering:
    run_dir = RunDir(tmp_path)
    run_dir.logs.mkdir()
    budget = Budget(Limits(calls=2), emit=told.append)
    pool = LimiterPool()
    pool.limiter("http://here", Widths(width=4))
    made = Steering(run_dir, budget, pool, told.append, workers=4)
    budget.gate = made.gate
    return made


def effects(told: Sequence[Event]) -> list[str]:
    return [e.effect for e in told if isinstance(e, OrderTaken)]


async def test_a_pause_holds_calls_back_until_resume(steering: Steering, told: list[Event]):
    give(steering.run_dir.root, Order(order="pause", by="test"))
    steering.take()
    waiting = asyncio.ensure_future(steering.budget.reserve(**CALL))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert steering.beat().paused
    give(steering.run_dir.root, Order(order="resume"))
    steering.take()
    await waiting
    assert effects(told) == ["no call is begun until resume", "goes on"]
    assert steering.budget.idle_s > 0
    assert [e.by for e in told if isinstance(e, OrderTaken)] == ["test", ""]


async def test_a_stop_ends_at_the_next_call_also_out_of_a_pause(steering: Steering):
    give(steering.run_dir.root, Order(order="pause"))
    steering.take()
    waiting = asyncio.ensure_future(steering.budget.reserve(**CALL))
    await asyncio.sleep(0)
    give(steering.run_dir.root, Order(order="stop"))
    steering.take()
    with pytest.raises(Interrupted, match="goes on from here"):
        await waiting


async def test_a_raised_cap_lets_who_waits_go_on_and_a_lowered_one_ends(steering: Steering):
    budget = steering.budget
    tickets = [await budget.reserve(**CALL), await budget.reserve(**CALL)]
    waiting = asyncio.ensure_future(budget.reserve(**CALL))
    await asyncio.sleep(0)
    assert not waiting.done()
    give(steering.run_dir.root, Order(order="set", key="budget.max_calls", value=3))
    steering.take()
    tickets.append(await waiting)
    for ticket in tickets:
        budget.settle(ticket, usage=Usage(1, 1), usd=0.0)
    with pytest.raises(BudgetExceeded):
        await budget.reserve(**CALL)
    give(steering.run_dir.root, Order(order="set", key="budget.max_calls", value=None))
    steering.take()
    await budget.reserve(**CALL)
    assert steering.beat().max_calls is None


async def test_workers_are_the_width_of_every_endpoint_wider_and_narrower(steering: Steering):
    limiter = steering.pool.limiter("http://here")
    for width in (9, 1):
        give(steering.run_dir.root, Order(order="set", key="env.workers", value=width))
        steering.take()
        assert (limiter.width, steering.workers, steering.beat().places["http://here"].width) == (width, width, width)
    async with limiter.place():
        second = asyncio.ensure_future(limiter.place().__aenter__())
        await asyncio.sleep(0)
        assert not second.done()
        limiter.resize(2)
        await second


async def test_what_was_ordered_before_this_process_is_not_carried_out(tmp_path: Path, told: list[Event]):
    run_dir = RunDir(tmp_path)
    run_dir.logs.mkdir()
    give(tmp_path, Order(order="stop"))
    late = Steering(run_dir, Budget(Limits()), LimiterPool(), told.append, workers=1)
    late.take()
    assert not late.stopping
    give(tmp_path, Order(order="resume"))
    late.take()
    assert effects(told) == ["nothing to do"]
    lines = (tmp_path / CONTROL).read_text().splitlines(keepends=True)
    (tmp_path / CONTROL).write_text(lines[0])  # another file, of nobody knows when
    late.take()
    assert not late.stopping
    give(tmp_path, Order(order="stop"))
    late.take()
    assert late.stopping


async def test_an_order_after_a_line_without_end_is_one_of_its_own(steering: Steering):
    (steering.run_dir.root / CONTROL).write_text('{"order": "pau')
    give(steering.run_dir.root, Order(order="stop"))
    steering.take()
    assert steering.stopping
    assert (steering.run_dir.root / CONTROL).read_text().count("\n") == 2


async def test_the_pulse_of_a_killed_process_is_none_of_the_next(tmp_path: Path, told: list[Event]):
    (tmp_path / "logs").mkdir()
    (tmp_path / PULSE).write_text('{"paused": true, "pid": 1}')
    Steering(RunDir(tmp_path), Budget(Limits()), LimiterPool(), told.append, workers=1)
    assert read_pulse(tmp_path) is None


async def test_a_pulse_that_is_under_way_at_the_end_is_not_the_last(steering: Steering):
    late = steering.beat()
    steering.end()
    steering._write(replace(late, done=7))
    last = read_pulse(steering.run_dir.root)
    assert last is not None
    assert last.done == 0


async def test_who_waits_goes_on_when_nobody_looks_for_orders_any_more(steering: Steering):
    give(steering.run_dir.root, Order(order="pause"))
    steering.take()
    waiting = asyncio.ensure_future(steering.gate())
    steering.emit = _fault  # a fault of ours in the middle of an order
    give(steering.run_dir.root, Order(order="pause"))
    with pytest.raises(RuntimeError):
        await steering.watch()
    await waiting


def _fault(event: Event) -> None:
    raise RuntimeError(type(event).__name__)


async def test_lines_that_are_no_order_are_passed_over(steering: Steering, told: list[Event]):
    lines = ['{"order": "explode"}', "not json", '{"order": "set", "key": "train.seed", "value": 3}', '{"order": 3}',
             '{"order": "set", "key": "env.workers", "value": 1e309}', "[]", "[" * 4000,
             '{"order": "set", "key": "env.workers", "value": 1' + "0" * 400 + "}",
             '{"order":"pause"' + " " * 5000 + "}",
             '{"order": "resume"}', '{"order": "stop"']  # fmt: skip
    (steering.run_dir.root / CONTROL).write_text("\n".join(lines))
    steering.take()
    assert effects(told) == ["nothing to do"]
    assert not steering.stopping  # its line is not whole yet
    with (steering.run_dir.root / CONTROL).open("a") as stream:
        stream.write("}\n")
    steering.take()
    assert steering.stopping


async def test_the_pulse_is_written_and_says_the_end(steering: Steering):
    async with steered(steering):
        while read_pulse(steering.run_dir.root) is None:
            await asyncio.sleep(0.01)
    last = read_pulse(steering.run_dir.root)
    assert last is not None
    assert last.places == {}
    assert json.loads((steering.run_dir.root / "logs/pulse.json").read_text())["workers"] == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explode"], "explode: no order"),
        (["pause", "now"], "pause: takes nothing further"),
        (["set"], "needs a key and a value"),
        (["set", "workers"], "needs a key and a value"),
        (["set", "seed=3"], "seed: this key cannot be changed"),
        (["set", "workers=0"], "above 0"),
        (["set", "workers=none"], "from 1 to 4096"),
        (["set", "workers", "2.5"], "whole"),
        (["set", "max_usd", "many"], "not a number"),
        (["set", "max_usd=-1"], "above 0"),
        (["set", "max_usd=nan"], "above 0"),
    ],
)
def test_a_wrong_order_is_one_line(words: list[str], says: str):
    with pytest.raises(ConfigError, match=says):
        order_of(words)


def test_short_names_of_keys():
    assert order_of(["set", "workers", "4"]) == Order(order="set", key="env.workers", value=4)
    assert order_of(["set", "max_calls", "none"]) == Order(order="set", key="budget.max_calls", value=None)
    assert order_of(["set", "budget=2.5"]) == Order(order="set", key="budget.max_usd", value=2.5)


def test_a_run_that_is_not_on_takes_no_orders(tmp_path: Path):
    with pytest.raises(RunDirError, match="is not running"):
        steer(tmp_path, order_of(["stop"]))


def test_a_real_run_is_paused_goes_on_and_stops_in_order(tmp_path: Path):
    """The target holds its first answer back until the run has been paused; at the end the run resumes for free."""
    out, asked, held = tmp_path / "run", threading.Event(), threading.Event()
    calls: list[str] = []

    async def target(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) >= 3:  # the first is the question whether it answers at all
            asked.set()
            await asyncio.to_thread(held.wait, 30)
        return "7"

    def train() -> None:
        items = [dict(toy_item(n)) for n in range(40)]
        keys = {"train.num_epochs": 1, "env.workers": 1}
        made = skillopt.optimize(
            items, scorer="exact", target=skillopt.Model(target, version="1"), optimizer="scripted", out=out,
            overrides=keys,
        )  # fmt: skip
        results.append(made)

    results: list[skillopt.Result] = []
    run = threading.Thread(target=train)
    run.start()
    assert asked.wait(10)
    assert steer(out, order_of(["pause"]), wait_s=30) == "no call is begun until resume"
    held.set()
    assert steer(out, order_of(["set", "workers=2"]), wait_s=30) == "2 calls at a time"
    before = len(calls)
    assert steer(out, order_of(["stop"], by="test"), wait_s=30) == "no call is begun any more"
    run.join(30)
    assert results[0].stopped_by == "interrupt"
    assert len(calls) == before  # nothing was begun after the pause but what already was on its way


async def test_a_stop_is_heard_by_whoever_waits_for_a_batch_or_an_endpoint(steering: Steering):
    wishes: list[str] = []

    def wished() -> None:
        if wishes:
            raise Interrupted("Ctrl-C")

    steering.wished = wished
    budget = steering.budget
    budget.check = steering.check
    pool = LimiterPool(identical_failures=2, outages=OutagePolicy(seconds=600, check=budget.heed))
    breaker = pool.breaker("http://here")
    breaker.answered_before()
    for _ in range(2):
        breaker.failed(object(), TransientModelError("nobody", unreachable=True))
    assert breaker.outage is not None
    breaker.check()
    budget.may_wait("target")
    give(steering.run_dir.root, Order(order="stop"))
    steering.take()
    for ask in (breaker.check, lambda: budget.may_wait("target")):
        with pytest.raises(Interrupted, match="stopped by an order"):
            ask()
    wishes.append("now")
    with pytest.raises(Interrupted, match="Ctrl-C"):
        budget.heed()
