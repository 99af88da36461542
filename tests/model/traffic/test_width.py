"""The width against simulated providers, in virtual time: it finds what the endpoint takes, and stays there."""

from __future__ import annotations

import asyncio

import pytest

from skillopt.model.traffic.limiter import GRACE_S, Limiter
from skillopt.model.traffic.width import PATIENCE, PAUSES, Width

from .simulated import Provider, crowd
from .virtual_time import run

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow_campaign) for seed in range(2, 5))]


def measured(provider: Provider, calls: int, *, width: int = 24, each=None) -> tuple[Limiter, float]:
    async def scenario() -> tuple[Limiter, float]:
        limiter = Limiter(width, clock=asyncio.get_running_loop().time)
        return limiter, await crowd(limiter, provider, calls, each=each and each(limiter))

    return run(scenario())


@pytest.mark.cases(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cap", [1, 3, 12, 20])
def test_finds_the_cap_and_stays_there(cap: int, seed: int) -> None:
    widths: list[int] = []
    provider = Provider(cap=cap, seed=seed)
    _, seconds = measured(provider, 4_000, each=lambda limiter: lambda _: widths.append(limiter.width))
    bound = sum(provider.latencies) / cap
    assert seconds <= 1.1 * bound + 2
    late = widths[400:]
    assert sum(abs(width - cap) <= 1 for width in late) >= 0.95 * len(late)
    assert len(provider.refusals) <= 24 + 10 + seconds / (PAUSES * provider.retry_after), (
        "one burst, then a try at times"
    )
    late_refusals = sum(when > seconds / 2 for when in provider.refusals)
    assert late_refusals <= 2 + seconds / 2 / (PAUSES * provider.retry_after)


@pytest.mark.parametrize("seed", SEEDS)
def test_refusals_by_chance_narrow_nothing(seed: int) -> None:
    widths: list[int] = []
    provider = Provider(rate=0.05, seed=seed)
    _, seconds = measured(provider, 4_000, each=lambda limiter: lambda _: widths.append(limiter.width))
    assert sum(widths[400:]) / len(widths[400:]) >= 12
    waits = len(provider.refusals) * 1.05
    assert seconds <= 1.35 * (sum(provider.latencies) + waits) / 24 + 2


@pytest.mark.parametrize("seed", range(3))
def test_a_rate_that_is_used_up_pauses_everybody(seed: int) -> None:
    provider = Provider(per_minute=300, retry_after=15.0, median_s=0.5, seed=seed)
    _, seconds = measured(provider, 1_500)
    assert len(provider.refusals) <= 40 * (seconds / 60 + 1)
    assert seconds <= 420


def test_a_cap_that_falls_is_followed_and_one_that_rises_is_found() -> None:
    provider = Provider(cap=20)
    widths: list[int] = []

    def each(limiter: Limiter):
        def at(number: int) -> None:
            widths.append(limiter.width)
            provider.cap = 20 if number < 1_000 or number >= 3_000 else 6

        return at

    measured(provider, 9_000, each=each)
    assert max(widths[1_400:3_000]) <= 8
    assert widths[-1] >= 18


def test_the_least_urgent_call_tries_a_higher_width() -> None:
    """A refused try costs that call a pause; a decision must not wait for it."""

    async def scenario() -> list[str]:
        limiter = Limiter(2, ceiling=8)
        begun: list[str] = []

        async def call(name: str, priority: int, hold: asyncio.Event) -> None:
            async with limiter.place(priority=priority):
                begun.append(name)
                await hold.wait()

        hold = asyncio.Event()
        limiter.control.refused(3, 0, busy=3, newest=0, now=0.0, retry_after=None)
        assert limiter.width == 2
        tasks = [asyncio.ensure_future(call(n, p, hold)) for n, p in (("a", 0), ("b", 0), ("c", 0), ("later", 10))]
        await asyncio.sleep(0)
        for order in range(1, PATIENCE * 2 + 1):
            limiter.control.answered(2, order, 0.0)
        assert limiter.control.trying and limiter.width == 3
        limiter._grant()
        await asyncio.sleep(0)
        hold.set()
        await asyncio.gather(*tasks)
        return begun

    assert run(scenario()) == ["a", "b", "later", "c"]


def test_an_outage_says_nothing_about_the_width() -> None:
    width = Width(24, 24)
    for order in range(24):
        width.refused(24, order, busy=24 - order, newest=24, now=0.0, retry_after=None)
    assert width.value == 1
    width.restore()
    assert width.value == width.proven == 24
    width.refused(24, 30, busy=24, newest=30, now=0.0, retry_after=None)
    width.answered(10, 31, 0.0)
    width.restore()
    assert width.value == 23, "after an answer the refusals before it stand"


async def test_a_cancelled_call_is_counted_a_moment_longer_where_calls_are_refused() -> None:
    limiter = Limiter(4)

    async def hold() -> None:
        async with limiter.place():
            await asyncio.sleep(30)

    async def cancel_all() -> int:
        tasks = [asyncio.ensure_future(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return limiter.busy

    assert await cancel_all() == 0
    limiter.control.refused(4, 99, busy=4, newest=99, now=0.0, retry_after=None)
    assert await cancel_all() == 3
    await asyncio.sleep(2 * GRACE_S)
    assert limiter.busy == 0
