"""The budget: reserved before the call (I6), waits for what is under way, keeps the sealed test's share."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.errors import BudgetExceeded, ConfigError
from skillopt.engine.run.spending.budget import Budget, Limits, Spend
from skillopt.model.types import Usage
from skillopt.records.events import BudgetUpdated, BudgetWarning, Event

CALL = {"role": "target", "model": "m", "prompt_tokens": 100, "completion_tokens": 100, "usd": 0.5}


async def test_a_call_that_cannot_fit_is_refused_before_it_is_made():
    budget = Budget(Limits(calls=1))
    ticket = await budget.reserve(**CALL)
    budget.settle(ticket, usage=Usage(10, 10), usd=0.1)
    with pytest.raises(BudgetExceeded, match=r"calls would be 2, the limit is 1 \(next call: target m\)") as caught:
        await budget.reserve(**CALL)
    assert (caught.value.kind, caught.value.value, caught.value.limit) == ("calls", 2, 1)
    assert budget.used == Spend(1, 20, 0.1)


async def test_a_reservation_waits_for_others_to_settle_below_theirs():
    budget = Budget(Limits(tokens=250))
    first = await budget.reserve(**CALL)
    waiting = asyncio.ensure_future(budget.reserve(**CALL))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle(first, usage=Usage(20, 10), usd=None)
    assert (await waiting).amount.tokens == 200


async def test_unknown_usage_counts_as_the_whole_reservation():
    budget = Budget(Limits(tokens=1000))
    budget.settle(await budget.reserve(**CALL), usage=Usage(), usd=None)
    assert budget.used == Spend(1, 200, 0.5)


async def test_release_is_idempotent_and_gives_everything_back():
    budget = Budget(Limits(calls=1))
    ticket = await budget.reserve(**CALL)
    budget.release(ticket)
    budget.release(ticket)
    assert budget.reserved == Spend(0, 0, 0)
    await budget.reserve(**CALL)


async def test_the_share_of_the_sealed_test_is_out_of_reach_until_it_is_freed():
    budget = Budget(Limits(calls=3))
    budget.set_aside(Spend(2), "the sealed test")
    budget.settle(await budget.reserve(**CALL), usage=Usage(1, 1), usd=0)
    with pytest.raises(BudgetExceeded, match="2 kept for the sealed test"):
        await budget.reserve(**CALL)
    budget.set_aside(Spend())
    await budget.reserve(**CALL)


async def test_money_capped_and_price_unknown_is_a_configuration_error():
    with pytest.raises(ConfigError, match=r"price of target model 'm' is unknown.*model\.prices"):
        await Budget(Limits(usd=1)).reserve(**{**CALL, "usd": None})


async def test_wall_time_counts_earlier_processes():
    with pytest.raises(BudgetExceeded, match="hours"):
        await Budget(Limits(hours=1), earlier_s=3601).reserve(**CALL)


async def test_warnings_come_once_at_half_and_at_four_fifths():
    seen: list[Event] = []
    budget = Budget(Limits(calls=10), emit=seen.append)
    for _ in range(10):
        budget.settle(await budget.reserve(**CALL), usage=Usage(1, 1), usd=0)
    assert [e.share for e in seen if isinstance(e, BudgetWarning)] == [0.5, 0.8]
    (told,) = [e for e in seen if isinstance(e, BudgetUpdated)]
    assert (told.calls, told.max_calls, told.usd) == (1, 10, 0), "seldom, so that it never delays a run"
    budget.tell()
    assert isinstance(seen[-1], BudgetUpdated) and seen[-1].calls == 10


async def test_money_that_is_not_known_is_told_as_unknown():
    seen: list[Event] = []
    budget = Budget(emit=seen.append)
    budget.settle(await budget.reserve(**CALL), usage=Usage(1, 1), usd=None)
    assert isinstance(seen[-1], BudgetUpdated) and seen[-1].usd is None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=30), st.integers(1, 400))
@settings(deadline=None)
def test_i6_spend_never_passes_the_cap(calls, cap):
    async def run() -> Budget:
        budget = Budget(Limits(tokens=cap))

        async def one(bound: int, used: int) -> None:
            ticket = await budget.reserve(role="target", model="m", prompt_tokens=bound, completion_tokens=0, usd=0)
            await asyncio.sleep(0)
            budget.settle(ticket, usage=Usage(min(used, bound), 0), usd=0)
            assert budget.used.tokens <= cap

        await asyncio.gather(*(one(b, u) for b, u in calls), return_exceptions=True)
        return budget

    budget = asyncio.run(run())
    assert budget.used.tokens <= cap and budget.reserved.calls == 0
