"""The adaptive limiter and the rate windows."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.model.traffic.limiter import Limiter
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.traffic.rates import WINDOW_S, RateWindow


async def held(limiter, count):
    """Take `count` places; returns them and the contexts to leave."""
    contexts = [limiter.place() for _ in range(count)]
    return [await context.__aenter__() for context in contexts], contexts


async def leave(contexts):
    for context in contexts:
        await context.__aexit__(None, None, None)


async def test_width_is_start_and_ceiling():
    limiter = Limiter(3)
    places, contexts = await held(limiter, 3)
    waiting = asyncio.ensure_future(limiter.place().__aenter__())
    await asyncio.sleep(0)
    assert limiter.waiting == 1
    for place in places:
        place.succeeded()
    assert limiter.width == 3
    await leave(contexts[:1])
    await waiting


async def test_grows_to_a_larger_ceiling():
    limiter = Limiter(2, ceiling=6)
    for _ in range(40):
        async with limiter.place() as place:
            place.succeeded()
    assert limiter.width == 6


async def test_a_burst_of_refusals_leaves_what_the_endpoint_took():
    limiter = Limiter(16)
    places, contexts = await held(limiter, 16)
    for place, context in list(zip(places, contexts, strict=True))[10:]:
        place.overloaded(1.0)
        await leave([context])
    assert limiter.width == 10 and limiter.paused_for == 0
    await leave(contexts[:10])


async def test_refusals_after_the_cut_halve_and_pause():
    limiter = Limiter(16)
    places, contexts = await held(limiter, 16)
    places[0].overloaded(30.0)
    await leave(contexts[:2])
    assert limiter.width == 15 and limiter.paused_for == 0
    again, more = await held(limiter, 1)
    again[0].overloaded(30.0)
    assert limiter.width == 7 and limiter.paused_for > 29
    await leave([*contexts[2:], *more])


async def test_a_lone_refusal_is_a_hiccup_many_are_not():
    lone, many = Limiter(24), Limiter(24)
    for _ in range(50):
        async with lone.place() as place:
            place.succeeded()
    async with lone.place() as place:
        place.overloaded(None)
    assert lone.width == 24
    for turn in range(40):
        async with many.place() as place:
            place.overloaded(None) if turn % 3 else place.succeeded()
    assert many.width < 5


async def test_never_below_one():
    limiter = Limiter(1)
    for _ in range(5):
        async with limiter.place() as place:
            place.overloaded(None)
    assert limiter.width == 1


async def test_retry_after_pauses_the_endpoint():
    limiter = Limiter(4)
    async with limiter.place() as place:
        place.overloaded(0.1)
    started = time.monotonic()
    async with limiter.place():
        assert time.monotonic() - started >= 0.1


async def test_a_lone_refusal_pauses_nobody_else_but_a_row_of_them_does():
    limiter = Limiter(4)
    for _ in range(30):
        async with limiter.place() as place:
            place.succeeded()
    for expected in (*[False] * 8, True):
        async with limiter.place() as place:
            place.overloaded(30.0)
        assert (limiter.paused_for > 0) is expected


async def test_a_later_success_ends_the_pause():
    limiter = Limiter(8)
    places, contexts = await held(limiter, 8)
    places[7].overloaded(30.0)
    await leave(contexts[5:])
    (refused, later), more = await held(limiter, 2)
    refused.overloaded(30.0)
    places[0].succeeded()
    assert limiter.paused_for > 29
    later.succeeded()
    assert limiter.paused_for == 0
    await leave([*contexts[:5], *more])
    async with limiter.place():
        pass


async def test_priority_then_second_attempts_then_order():
    limiter = Limiter(1)
    order = []

    async def call(name, priority, again=False):
        async with limiter.place(priority=priority, again=again):
            order.append(name)

    _, contexts = await held(limiter, 1)
    calls = [call("speculative", 10), call("first", 0), call("second", 0), call("again", 0, True), call("urgent", -1)]
    tasks = [asyncio.ensure_future(c) for c in calls]
    await asyncio.sleep(0)
    await leave(contexts)
    await asyncio.gather(*tasks)
    assert order == ["urgent", "again", "first", "second", "speculative"]


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 4))
def test_cancellation_loses_no_place(cancelled, width):
    async def scenario():
        limiter = Limiter(width)

        async def call():
            async with limiter.place():
                await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(call()) for _ in cancelled]
        await asyncio.sleep(0)
        for task, cancel in zip(tasks, cancelled, strict=True):
            if cancel:
                task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.busy == 0 and limiter.waiting == 0
        assert [r is None for r in results].count(True) >= cancelled.count(False)

    asyncio.run(scenario())


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 9)), max_size=60), st.integers(5, 40))
def test_rate_window_is_never_passed(arrivals, limit):
    window, now, spent = RateWindow(limit), 0.0, []
    for gap, units in arrivals:
        units = min(units, limit)
        now += gap
        while (delay := window.delay(now, units)) > 0:
            now += delay + 1e-6
        window.spend(now, units)
        spent.append((now, units))
        assert sum(u for t, u in spent if t > now - WINDOW_S) <= limit


def test_five_requests_a_minute():
    window = RateWindow(5)
    for second in range(5):
        assert window.delay(second, 1) == 0
        window.spend(second, 1)
    assert window.delay(5, 1) == pytest.approx(55)
    assert window.delay(60.001, 1) == 0


def test_tokens_are_corrected_by_the_real_usage():
    window = RateWindow(1000)
    entry = window.spend(0, 900)
    assert window.delay(1, 500) == pytest.approx(59)
    window.correct(entry, 100)
    assert window.delay(1, 500) == 0


async def test_request_rate_holds_calls_back():
    limiter = Limiter(8, requests_per_minute=3)
    done = []

    async def call(i):
        async with limiter.place():
            done.append(i)

    tasks = [asyncio.ensure_future(call(i)) for i in range(5)]
    await asyncio.sleep(0.05)
    assert done == [0, 1, 2]
    for task in tasks:
        task.cancel()


async def test_roles_share_an_endpoint_and_runs_share_nothing():
    pool = LimiterPool()
    target = pool.limiter("https://a/v1", Limits(width=24, requests_per_minute=100))
    optimizer = pool.limiter("https://a/v1", Limits(width=16, requests_per_minute=50))
    assert target is optimizer
    assert target.width == 24 and target.requests is not None and target.requests.limit == 50
    assert pool.limiter("https://b/v1") is not target
    assert LimiterPool().limiter("https://a/v1") is not target
    assert pool.breaker("https://a/v1") is pool.breaker("https://a/v1")
