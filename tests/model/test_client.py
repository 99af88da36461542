"""The client against a scripted backend and against the simulated provider over loopback."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from skillopt.core.errors import (
    BudgetExceeded,
    CircuitOpen,
    ContextOverflow,
    DeadlineExceeded,
    FatalModelError,
    TransientModelError,
)
from skillopt.model.types import ChatReply, Usage
from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.scripted import ScriptedBackend

from .model_support import ask, compatible


def sequence(*answers):
    """A respond function that gives the answers in turn, the last one for ever; keeps the requests."""
    pending = iter(answers)
    last = [answers[-1]]
    seen = []

    def respond(request):
        seen.append(request)
        last[0] = next(pending, last[0])
        return last[0]

    respond.seen = seen
    return respond


async def test_answer_is_journalled_and_asked_once(rig):
    respond = sequence("first", "second")
    r = rig(ScriptedBackend(respond))
    first, again = await r.chat(), await r.chat()
    assert first == again and first.text == "first"
    assert len(respond.seen) == 1
    assert len(r.meter.settled) == 1
    [row] = r.journal.ledger()
    assert row.prompt_tokens == first.usage.prompt_tokens
    assert row.usd == 0.0


async def test_same_question_at_the_same_time_is_paid_once(rig):
    respond = sequence("only")
    r = rig(ScriptedBackend(respond, latency_s=0.02))
    replies = await asyncio.gather(*(r.chat() for _ in range(24)))
    assert {reply.text for reply in replies} == {"only"}
    assert len(respond.seen) == 1


async def test_key_holds_what_changes_the_answer_and_nothing_else(rig):
    r = rig(ScriptedBackend())
    base = r.client.key(ask())
    for same in (ask(stage="gate"), ask(priority=5), ask(deadline_s=1.0), ask(attempts=2)):
        assert r.client.key(same) == base
    different = [
        ask("other"),
        ask(system="x"),
        ask(temperature=0.0),
        ask(top_p=0.5),
        ask(seed=1),
        ask(repeat=1),
        ask(reasoning_effort="low"),
        ask(schema={"type": "object"}),
        ask(max_completion_tokens=5),
    ]
    keys = {r.client.key(d) for d in different}
    assert len(keys) == len(different) and base not in keys
    assert rig(ScriptedBackend(version="2")).client.key(ask()) != base


async def test_transient_errors_are_retried_and_refunded(rig):
    r = rig(ScriptedBackend(sequence(TransientModelError("boom"), TransientModelError("boom"), "fine")))
    assert (await r.chat()).text == "fine"
    assert (r.meter.released, len(r.meter.settled)) == (2, 1)


async def test_no_wait_after_the_last_attempt_and_nothing_stored(rig):
    r = rig(ScriptedBackend(sequence(TransientModelError("boom"))))
    with pytest.raises(TransientModelError, match="boom"):
        await r.chat(attempts=3)
    assert r.meter.released == 3
    assert r.journal.count() == 0


async def test_retry_after_wins(rig):
    r = rig(ScriptedBackend(sequence(TransientModelError("slow down", retry_after=0.2, overloaded=True), "fine")))
    started = time.monotonic()
    await r.chat()
    assert 0.2 <= time.monotonic() - started < 20


@pytest.mark.parametrize("error", [FatalModelError("401 bad key"), ContextOverflow("too long")])
async def test_hopeless_errors_are_raised_at_once(rig, error):
    respond = sequence(error)
    r = rig(ScriptedBackend(respond))
    with pytest.raises(type(error), match=error.message):
        await r.chat()
    assert len(respond.seen) == 1


async def test_budget_refusal_is_not_retried_and_nothing_is_sent(rig):
    respond = sequence("never")
    r = rig(ScriptedBackend(respond))
    r.meter.refuse = BudgetExceeded("calls", 11, 10, "budget.max_calls")
    with pytest.raises(BudgetExceeded):
        await r.chat()
    assert not respond.seen


async def test_reservation_is_made_for_what_is_sent_not_for_what_waits(rig):
    r = rig(ScriptedBackend(lambda q: "ok", latency_s=0.002), width=3)
    await asyncio.gather(*(r.chat(f"q{i}") for i in range(30)))
    assert r.meter.most_open <= 3
    assert r.meter.reserved[0]["completion_tokens"] == 16_384


async def test_deadline_covers_attempts_and_waits(rig):
    r = rig(ScriptedBackend(sequence(TransientModelError("busy", retry_after=60.0))))
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="busy"):
        await r.chat(deadline_s=0.3)
    assert time.monotonic() - started < 20


async def test_deadline_stops_a_silent_provider(rig):
    r = rig(ScriptedBackend(lambda q: "late", latency_s=30))
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await r.chat(deadline_s=0.1)
    assert time.monotonic() - started < 20


async def test_waiting_for_a_place_is_not_on_the_deadline(rig):
    r = rig(ScriptedBackend(lambda q: "ok", latency_s=0.08), width=1)
    replies = await asyncio.gather(*(r.chat(f"q{i}", deadline_s=0.2) for i in range(6)))
    assert [reply.text for reply in replies] == ["ok"] * 6


async def test_cancelled_call_gives_everything_back(rig):
    r = rig(ScriptedBackend(lambda q: "late", latency_s=30), width=1)
    tasks = [asyncio.ensure_future(r.chat(f"q{i}")) for i in range(4)]
    await asyncio.sleep(0.02)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert r.client.limiter.busy == 0 and not r.meter.open


def cut(text, used):
    return ChatReply(text, "length", Usage(10, used))


async def test_reply_cut_short_of_its_cap_is_asked_again(rig):
    respond = sequence(cut("The ans", 3), "The answer")
    r = rig(ScriptedBackend(respond))
    reply = await r.chat(max_completion_tokens=100)
    assert (reply.text, reply.finish) == ("The answer", "stop")
    # Both were billed, and the ledger says so.
    assert r.journal.ledger()[0].completion_tokens == reply.usage.completion_tokens == 3 + 3
    assert len(r.meter.settled) == 2
    assert len({q.idempotency_key for q in respond.seen}) == 2


async def test_unknown_usage_is_asked_once_more(rig):
    respond = sequence(cut("a", None), "done")
    assert (await rig(ScriptedBackend(respond)).chat()).text == "done"


async def test_same_cut_twice_is_the_servers_own_limit(rig):
    respond = sequence(cut("The ans", 3))
    reply = await rig(ScriptedBackend(respond)).chat(max_completion_tokens=100)
    assert reply.finish == "length" and len(respond.seen) == 2


async def test_genuine_length_is_returned_as_such(rig):
    respond = sequence(cut("long text", 100))
    reply = await rig(ScriptedBackend(respond)).chat(max_completion_tokens=100)
    assert reply.finish == "length" and len(respond.seen) == 1


@pytest.mark.parametrize(("cap", "raised"), [(100, 400), (40_000, 65_536)])
async def test_cap_used_up_before_any_text_is_raised_once(rig, cap, raised):
    respond = sequence(cut("", cap), cut("", raised))
    reply = await rig(ScriptedBackend(respond)).chat(max_completion_tokens=cap)
    assert reply.finish == "length"
    assert [q.max_completion_tokens for q in respond.seen] == [cap, raised]


async def test_empty_answer_is_asked_once_more_then_real(rig):
    respond = sequence("")
    reply = await rig(ScriptedBackend(respond)).chat()
    assert (reply.text, reply.finish, len(respond.seen)) == ("", "stop", 2)
    respond = sequence("", "there")
    assert (await rig(ScriptedBackend(respond)).chat()).text == "there"
    assert (await rig(ScriptedBackend(sequence(""))).chat(attempts=1)).text == ""


async def test_circuit_opens_on_identical_failures_across_calls(rig):
    numbers = itertools.count(1000)
    r = rig(ScriptedBackend(lambda q: TransientModelError(f"500 upstream down, request id req-{next(numbers)}")))
    results = await asyncio.gather(*(r.chat(f"q{i}", attempts=2) for i in range(200)), return_exceptions=True)
    kinds = [type(result) for result in results]
    assert kinds.count(TransientModelError) == 9
    assert kinds.count(CircuitOpen) == 191
    assert "upstream down" in str(results[-1])
    assert len(r.meter.reserved) < 40, "an open circuit lets nothing through"


async def test_a_success_resets_the_circuit(rig):
    outcomes = itertools.cycle([TransientModelError("hiccup")] * 9 + ["fine"])
    r = rig(ScriptedBackend(lambda q: next(outcomes)), width=1)
    for i in range(40):
        try:
            await r.chat(f"q{i}", attempts=1)
        except TransientModelError:
            continue


async def test_usd_is_none_when_the_price_is_unknown(rig):
    async with LatencyServer() as server:
        known, unknown = rig(compatible(server.url)), rig(compatible(server.url, model="nobody-knows-1"))
        await known.chat()
        await unknown.chat()
    usage, usd = known.meter.settled[0]
    assert usd == pytest.approx((usage.prompt_tokens * 0.15 + usage.completion_tokens * 0.6) / 1e6)
    assert unknown.meter.settled[0][1] is None and unknown.meter.reserved[0]["usd"] is None


async def test_transient_faults_of_a_provider_never_show(rig):
    faults = Behaviour(
        median_s=0.005, rate_429=0.02, retry_after_s=0.02, rate_500=0.05, rate_cut=0.02, rate_empty_body=0.02,
        rate_empty_content=0.01, rate_length=0.02,
    )  # fmt: skip
    questions = [f"question {i}: what follows from the premises?" for i in range(300)]
    async with LatencyServer(faults) as server:
        r = rig(compatible(server.url), width=24)
        replies = await asyncio.gather(*(r.chat(q) for q in questions))
        assert [reply.text for reply in replies] == questions
        assert server.stats.peak <= 24
        assert len(server.stats.statuses) > 2


async def test_dead_endpoint_stops_with_the_providers_words(rig):
    async with LatencyServer(Behaviour(dead=True)) as server:
        r = rig(compatible(server.url), width=24)
        results = await asyncio.gather(*(r.chat(f"q{i}", attempts=3) for i in range(200)), return_exceptions=True)
    assert any(isinstance(result, CircuitOpen) for result in results)
    assert not [result for result in results if isinstance(result, ChatReply)]
    assert "The server had an error" in str(next(x for x in results if isinstance(x, CircuitOpen)))
    assert server.stats.to_json()["started"] < 120


async def test_each_429_is_waited_out_and_the_width_shrinks(rig):
    async with LatencyServer(
        Behaviour(median_s=0.02, sigma=0, width=4, reject_above_width=True, retry_after_s=0.05)
    ) as s:
        r = rig(compatible(s.url), width=24)
        replies = await asyncio.gather(*(r.chat(f"q{i}", attempts=30) for i in range(80)))
        assert len(replies) == 80
        assert r.client.limiter.width < 16
        assert s.stats.statuses[429] < 80


async def test_cancellation_closes_the_connection(rig):
    async with LatencyServer(Behaviour(median_s=30, sigma=0)) as server:
        r = rig(compatible(server.url))
        task = asyncio.ensure_future(r.chat())
        while not server.stats.busy:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(100):
            if not server.stats.busy:
                break
            await asyncio.sleep(0.01)
        assert server.stats.busy == 0
        assert server.stats.to_json()["completed"] == 0


async def test_large_and_foreign_prompts_arrive_whole(rig):
    async with LatencyServer() as server:
        r = rig(compatible(server.url))
        for text in ("x" * 2**20, "naïve 漢字 🙂 \u202e \x00 \r\n", "half a pair \ud83d here"):
            sent = text.replace("\ud83d", "\ufffd")
            assert (await r.chat(text)).text == sent


async def test_twenty_four_at_once(rig):
    async with LatencyServer(Behaviour(median_s=0.05, sigma=0)) as server:
        r = rig(compatible(server.url), width=24)
        await asyncio.gather(*(r.chat(f"warm {i}") for i in range(24)))
        await asyncio.gather(*(r.chat(f"q{i}") for i in range(48)))
        assert server.stats.peak == 24


class SlowToImport(ScriptedBackend):
    """A backend whose SDK takes longer to import than a call may take."""

    loads = 0

    def load_sdk(self):
        self.loads += 1
        time.sleep(0.4)


async def test_importing_the_sdk_is_not_part_of_a_calls_deadline(rig):
    backend = SlowToImport(sequence("in time"))
    r = rig(backend)
    reply = await r.client.chat(ask(deadline_s=0.3))
    assert reply.text == "in time"
    await r.client.chat(ask("another", deadline_s=0.3))
    assert backend.loads == 1


@pytest.mark.parametrize("how", ["deadline", "timeout", "refused"])
async def test_a_call_that_nobody_waited_for_counts_whole(rig, how):
    """The provider may write, and bill, an answer that was given up; what was refused it does not."""
    if how == "deadline":
        r = rig(ScriptedBackend(lambda q: "late", latency_s=5.0))
        with pytest.raises(DeadlineExceeded):
            await r.chat(deadline_s=0.05, attempts=1)
    else:
        cause = "silent" if how == "timeout" else "unreachable"
        r = rig(ScriptedBackend(sequence(TransientModelError("no answer within 300 s", cause=cause))))
        with pytest.raises(TransientModelError):
            await r.chat(attempts=1)
    (asked,) = r.meter.reserved
    whole = (Usage(asked["prompt_tokens"], asked["completion_tokens"]), asked["usd"])
    assert r.meter.settled == ([] if how == "refused" else [whole])
    assert r.meter.released == (how == "refused") and not r.meter.open
