"""An endpoint that has answered is waited for when it is down; what it costs, who tries, and when it is given up."""

from __future__ import annotations

import asyncio
import time

import pytest

from skillopt.core.errors import CircuitOpen, DeadlineExceeded, FatalModelError, Interrupted, TransientModelError
from skillopt.model.traffic.outage import OutagePolicy
from skillopt.model.traffic.retry import Deadline, OuterTimeUp
from skillopt.records.events import OutageEnd, OutageStart
from skillopt.testing.scripted import ScriptedBackend

GONE = TransientModelError("503: the cluster restarts", overloaded=True, unreachable=True)


class Provider:
    """Answers, or does what `fault` says: an error to raise, or None to hang."""

    def __init__(self) -> None:
        self.fault: Exception | str | None = "fine"
        self.sent: list[float] = []

    def __call__(self, request):
        self.sent.append(time.monotonic())
        return self.fault


@pytest.fixture
def waiting(rig):
    """Makes a rig that waits `seconds` for an endpoint; what it tells goes to `told`."""

    def make(provider, seconds=30.0, *, width=8, check=None, latency_s=0.0):
        told = []
        policy = OutagePolicy(seconds, told.append, check)
        made = rig(ScriptedBackend(provider, latency_s=latency_s), width=width, outages=policy)
        made.told = told
        return made

    return make


async def down(r) -> None:
    """Wait until the outage has been noticed."""

    async def noticed():
        while not r.told:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(noticed(), 60)


@pytest.mark.cases(1)
@pytest.mark.parametrize("width", [1, 3, 24])
async def test_every_call_is_answered_after_the_outage(waiting, width):
    provider = Provider()
    r = waiting(provider, width=width)
    await r.chat("before")
    provider.fault = GONE
    calls = [asyncio.ensure_future(r.chat(f"q{i}", deadline_s=0.5)) for i in range(60)]
    await down(r)
    await asyncio.sleep(0.8)  # longer than any call may take
    during = len(provider.sent)
    provider.fault = "fine"
    replies = await asyncio.gather(*calls)
    assert [reply.text for reply in replies] == ["fine"] * 60
    assert during <= 5 * width + 15, "one call at a time tries"
    start, end = r.told
    assert isinstance(start, OutageStart) and "the cluster restarts" in start.reason
    assert isinstance(end, OutageEnd) and end.outcome == "done" and end.seconds > 0.7
    assert r.client.limiter.width == width, "an outage is no refusal"


async def test_it_is_given_up_in_order(waiting):
    provider = Provider()
    r = waiting(provider, 1.2, width=4)
    await r.chat("before")
    provider.fault = GONE
    started = time.monotonic()
    results = await asyncio.gather(*(r.chat(f"q{i}") for i in range(30)), return_exceptions=True)
    assert all(isinstance(result, CircuitOpen) for result in results)
    assert "did not answer for 1.2 s: 503: the cluster restarts" in str(results[0])
    assert time.monotonic() - started > 1.0
    assert [type(event) for event in r.told] == [OutageStart, OutageEnd] and r.told[1].outcome == "stopped"


async def test_an_endpoint_that_never_answered_is_not_waited_for(waiting):
    provider = Provider()
    provider.fault = GONE
    r = waiting(provider, width=24)
    results = await asyncio.gather(*(r.chat(f"q{i}", attempts=2) for i in range(60)), return_exceptions=True)
    assert any(isinstance(result, CircuitOpen) for result in results)
    assert not r.told


async def test_an_answer_of_an_earlier_process_counts(waiting):
    provider = Provider()
    r = waiting(provider)
    await r.chat("before")
    again = waiting(provider)
    again.client.journal = r.journal
    await again.chat("before")
    provider.fault = GONE
    call = asyncio.ensure_future(again.chat("after"))
    await down(again)
    provider.fault = "fine"
    assert (await call).text == "fine"


async def test_a_poisoned_call_is_lost_while_others_are_answered(waiting):
    provider = Provider()

    def answer(request):
        return GONE if "poison" in request.messages[-1].content else provider(request)

    r = waiting(answer, width=4, latency_s=0.01)
    await r.chat("before")

    async def others(i):
        for n in range(20):
            await r.chat(f"q{i}-{n}")

    jobs = asyncio.gather(r.chat("poison"), *(others(i) for i in range(3)), return_exceptions=True)
    poison, *_ = await asyncio.wait_for(jobs, 20)
    assert isinstance(poison, TransientModelError)
    assert not r.told


@pytest.mark.parametrize(
    "fault", [TransientModelError("500: cannot answer this"), GONE], ids=["answers 500", "hangs up"]
)
async def test_many_poisoned_calls_that_are_tried_again_at_the_end_are_no_outage(waiting, fault):
    """What is missing at the end of a split is asked again when nothing else is: its failures are its own."""
    provider = Provider()

    def answer(request):
        poisoned = "poison" in request.messages[-1].content
        return TransientModelError("500: cannot answer this") if poisoned else provider(request)

    r = waiting(answer, width=4, latency_s=0.002)
    asked = [f"{'poison' if i % 3 == 0 else 'q'}{i}" for i in range(45)] + [f"q{i}" for i in range(100, 130)]
    first = await asyncio.gather(*(r.chat(one) for one in asked), return_exceptions=True)
    poison = [one for one in asked if one.startswith("poison")]
    assert [type(found) for found in first if isinstance(found, Exception)] == [TransientModelError] * len(poison)
    again = await asyncio.gather(*(r.chat(one) for one in poison for _ in range(2)), return_exceptions=True)
    assert {type(found) for found in again} == {TransientModelError}
    assert not r.told
    assert (await r.chat("after")).text == "fine"
    provider.fault = GONE
    call = asyncio.ensure_future(r.chat("a good one"))
    await down(r)
    provider.fault = "fine"
    assert (await call).text == "fine", "an outage is noticed as before"


async def test_calls_that_have_not_failed_try_first_in_an_outage(waiting):
    """A dozen calls that nobody answers look like an outage; the good ones behind them are answered all the same."""
    provider = Provider()
    r = waiting(lambda request: GONE if "poison" in request.messages[-1].content else provider(request), width=4)
    await r.chat("before")
    poison = [asyncio.ensure_future(r.chat(f"poison{i}")) for i in range(12)]
    await down(r)
    good = await asyncio.gather(*(r.chat(f"q{i}") for i in range(20)))
    assert [reply.text for reply in good] == ["fine"] * 20
    for one in poison:
        one.cancel()
    await asyncio.gather(*poison, return_exceptions=True)


async def test_silence_of_many_calls_is_an_outage_of_one_is_not(waiting):
    provider = Provider()
    hang = 0.0

    class Slow(ScriptedBackend):
        async def complete(self, request):
            await asyncio.sleep(hang)
            return await super().complete(request)

    r = waiting(provider, width=24)
    r.client.backend = Slow(provider)
    await r.chat("before")
    hang = 30.0
    with pytest.raises(DeadlineExceeded):
        await r.chat("alone", deadline_s=0.1)
    calls = [asyncio.ensure_future(r.chat(f"q{i}", deadline_s=0.3)) for i in range(24)]
    await down(r)
    hang = 0.0
    assert [reply.text for reply in await asyncio.gather(*calls)] == ["fine"] * 24


async def test_a_users_fault_ends_the_wait_at_once(waiting):
    provider = Provider()
    r = waiting(provider)
    await r.chat("before")
    provider.fault = GONE
    call = asyncio.ensure_future(r.chat("q"))
    await down(r)
    provider.fault = FatalModelError("401: bad key")
    with pytest.raises(FatalModelError, match="bad key"):
        await call


async def test_a_wish_to_end_is_heard_during_the_wait(waiting):
    wished = False

    def check():
        if wished:
            raise Interrupted("enough")

    provider = Provider()
    r = waiting(provider, check=check)
    await r.chat("before")
    provider.fault = GONE
    calls = [asyncio.ensure_future(r.chat(f"q{i}")) for i in range(12)]
    await down(r)
    wished = True
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, Interrupted) for result in results)


async def test_cancelling_the_call_that_tries_lets_another_try(waiting):
    provider = Provider()
    r = waiting(provider, width=12)
    await r.chat("before")
    provider.fault = GONE
    calls = [asyncio.ensure_future(r.chat(f"q{i}")) for i in range(12)]
    await down(r)
    await asyncio.sleep(0.2)
    for call in calls[:6]:
        call.cancel()
    provider.fault = "fine"
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [getattr(x, "text", None) for x in results[6:]] == ["fine"] * 6
    assert r.client.limiter.busy == 0


@pytest.mark.parametrize("outage_s", [0.0, 0.8])
async def test_an_outage_is_off_the_time_of_the_whole_that_a_call_belongs_to(waiting, outage_s):
    provider = Provider()
    r = waiting(provider)
    await r.chat("before")
    whole = Deadline(0.5)
    if outage_s:
        provider.fault = GONE
    call = asyncio.ensure_future(r.chat("asked", within=whole))
    if outage_s:
        await down(r)
        await asyncio.sleep(outage_s)
        provider.fault = "fine"
    assert (await call).text == "fine"
    assert whole.left > 0


async def test_the_time_of_the_whole_ends_a_call_and_blames_no_endpoint(waiting):
    r = waiting(Provider(), latency_s=60)
    whole = Deadline(0.05)
    for _ in range(3):
        with pytest.raises(OuterTimeUp):
            await r.chat("asked", within=whole)
    assert whole.left == 0 and not r.told
