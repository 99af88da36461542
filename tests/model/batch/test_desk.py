"""Calls in batches against a strict provider of either kind: each gets its own answer, once paid, once sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import FatalModelError, Interrupted
from skillopt.model.batch.book import Book
from skillopt.model.batch.contract import BatchSettings
from skillopt.model.batch.desk import BatchDesk
from skillopt.model.client import Client
from skillopt.model.prices import Price, PriceTable, Rates
from skillopt.model.registry import create_backend
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.types import ChatReply, ChatRequest
from skillopt.store.journal import Journal
from tests.model.batch.provider import BatchProvider, provider
from tests.model.model_support import QuickBackoff, WatchfulMeter, ask
from tests.model.providers.contract.server import KEY, MODEL, Fault, Say, Seen

KINDS = ("openai", "anthropic")
PRICES = PriceTable({("", MODEL): Price(Rates(1.0, 10.0, cached=0.5), batch=0.5)})
SETTINGS = BatchSettings(frozenset({"rollout"}), least=2, collect_s=0.02, poll_s=0.01, wait_s=60)


class Run:
    """One process of a run: a client with its desk on a journal that the next process opens again."""

    def __init__(self, server: BatchProvider, path: Path, settings: BatchSettings = SETTINGS) -> None:
        self.journal = Journal.open(path)
        self.meter, self.told = WatchfulMeter(), list[str]()
        self.stop = False
        values: dict[str, Any] = {"model": MODEL, "api_key": KEY, "max_tokens": 900}
        values |= {"base_url": server.root, "route": "api"} if server.anthropic else {"base_url": f"{server.root}/v1"}
        backend = create_backend("claude_chat" if server.anthropic else "openai_compatible", values)
        self.client = Client(
            role="target",
            backend=backend,
            journal=self.journal,
            meter=self.meter,
            pool=LimiterPool(),
            prices=PRICES,
            limits=Limits(width=4),
            backoff=QuickBackoff(),
        )
        made: Any = backend
        self.desk = BatchDesk(
            self.client,
            made.batches(),
            Book(self.journal, "target", backend.endpoint),
            settings,
            say=self.told.append,
            check=self.check,
        )
        self.client.desk = self.desk

    def check(self) -> None:
        if self.stop:
            raise Interrupted("stopped")

    async def many(self, count: int = 12, **more: Any) -> list[ChatReply]:
        return await asyncio.gather(*(self.client.chat(question(n, **more)) for n in range(count)))

    async def killed(self) -> None:
        """As a kill leaves it: nothing is told to the provider, nothing more is written."""
        self.journal.close()
        await self.desk.aclose()
        await self.client.aclose()

    async def aclose(self) -> None:
        await self.desk.aclose()
        await self.client.aclose()
        await self.journal.aclose()
        assert not self.meter.open, "a reservation was neither settled nor released"


def question(n: int, **more: Any) -> ChatRequest:
    return ask(f"question {n}", max_completion_tokens=500, **more)


@asynccontextmanager
async def opened(server: BatchProvider, path: Path, **more: Any) -> AsyncGenerator[Run]:
    run = Run(server, path, **more)
    try:
        yield run
    finally:
        await run.aclose()


@pytest.mark.parametrize("kind", KINDS)
async def test_each_call_gets_its_own_answer_at_the_batch_price(kind: str, tmp_path: Path) -> None:
    async with provider(kind) as server, opened(server, tmp_path / "j.sqlite") as run:
        replies = await run.many()
        assert [r.text for r in replies] == [f"echo question {n}" for n in range(12)]
        # One went ahead; the others were one batch, whose rows are the live bodies of the same questions.
        assert len(server.live_bodies) == 1 and len(server.batches) == 1 and len(server.rows) == 11
        assert set(server.submitted.values()) == {1}
        (row,) = run.journal.ledger()
        assert (row.calls, row.prompt_tokens, row.completion_tokens) == (12, 1200, 240)
        whole = ((100 - 64) * 1.0 + 64 * 0.5 + 20 * 10.0) / 1e6
        assert row.usd == pytest.approx(whole * (1 + 11 / 2))
        assert sum(usd or 0 for _, usd in run.meter.settled) == pytest.approx(row.usd)
        assert any("11 calls of the target" in line and "50 %" in line for line in run.told), run.told
        assert run.journal.get_meta("batches") == []
        # Asked again it costs nothing.
        assert await run.many() == replies and len(server.batches) == 1


OPTIONS: dict[str, dict[str, Any]] = {
    "schema": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "effort": {"reasoning_effort": "low"},
    "cap": {"max_completion_tokens": 77},
    "tools": {"tools": ({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},),
              "tool_choice": "auto"},
    "system": {"system": "another skill"},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", [*OPTIONS, "temperature", "seed"])
async def test_each_option_changes_the_row_as_it_changes_the_live_body(kind: str, option: str, tmp_path: Path) -> None:
    more = OPTIONS.get(option, {option: 1})
    if kind == "anthropic" and option in ("temperature", "seed"):
        pytest.skip("the Messages API takes none")

    def body(n: int, **options: Any) -> ChatRequest:
        options = {"max_completion_tokens": 500, **options}
        return ask(f"question {n}", **options)

    async with provider(kind) as server:
        for number, (settings, options) in enumerate(
            ((SETTINGS, {}), (SETTINGS, more), (BatchSettings(frozenset()), more))
        ):
            async with opened(server, tmp_path / f"{number}.sqlite", settings=settings) as run:
                await asyncio.gather(*(run.client.chat(body(n, **options)) for n in range(4)))
        plain, changed = (
            [b for _, b in sorted(batch.rows, key=lambda r: str(r[1]["messages"]))] for batch in server.batches.values()
        )
        live = sorted(server.live_bodies[2:], key=lambda b: str(b["messages"]))[1:]
        assert not server.refusals

        def unmarked(value: Any) -> Any:
            if isinstance(value, dict):
                return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
            return [unmarked(v) for v in value] if isinstance(value, list) else value

        assert plain != changed
        assert changed == unmarked(live)
        assert "cache_control" not in str(changed), "a row that nobody else reads is not written to the cache"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_comes_back_without_an_answer_is_asked_one_by_one(kind: str, tmp_path: Path) -> None:
    def script(seen: Seen) -> Say | Fault | str:
        n = int(seen.turns[-1][1].split()[-1])
        if kind == "anthropic" and n in (2, 3):
            return ("expired", "canceled")[n - 2]
        bad: dict[int, Any] = {
            2: "expired", 3: Fault(500), 4: Say("", usage=(100, 0, 64, 0)), 5: Say("cut", "length", (100, 10, 64, 5)),
            6: Fault(429, "slow down"),
        }  # fmt: skip
        return bad.get(n) or Say(f"echo {n}")

    async with (
        provider(kind, script=script, live=lambda seen: Say(f"echo {seen.turns[-1][1].split()[-1]}")) as server,
        opened(server, tmp_path / "j.sqlite") as run,
    ):
        assert [r.text for r in await run.many()] == [f"echo {n}" for n in range(12)]
        assert len(server.live_bodies) == 1 + 5 and len(server.batches) == 1
        assert sum(row.calls for row in run.journal.ledger()) == 12 + 2, "two replies of no use were billed too"
        assert any("5 without an answer of use" in line for line in run.told)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_batch_whose_creation_was_not_heard_of_is_found(kind: str, tmp_path: Path) -> None:
    create = "POST /v1/messages/batches" if kind == "anthropic" else "POST /v1/batches"
    async with (
        provider(kind, after=lambda number, what: what == create) as server,
        opened(server, tmp_path / "j.sqlite") as run,
    ):
        assert [r.text for r in await run.many()] == [f"echo question {n}" for n in range(12)]
        assert len(server.batches) == 1 and set(server.submitted.values()) == {1}


async def test_a_server_without_metadata_is_asked_for_the_file(tmp_path: Path) -> None:
    async with (
        provider("openai", drop_metadata=True, after=lambda number, what: what == "POST /v1/batches") as server,
        opened(server, tmp_path / "j.sqlite") as run,
    ):
        await run.many()
        assert len(server.batches) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refused_creation_is_tried_again_as_the_server_asks(kind: str, tmp_path: Path) -> None:
    create = "POST /v1/messages/batches" if kind == "anthropic" else "POST /v1/batches"

    def before(number: int, what: str) -> Fault | None:
        first = server.asked.count(create) == 1
        return Fault(429, "too many", {"Retry-After": "0"}) if what == create and first else None

    async with provider(kind, before=before) as server, opened(server, tmp_path / "j.sqlite") as run:
        await run.many()
        assert len(server.batches) == 1 and server.asked.count(create) == 2


async def test_an_endpoint_without_batches_ends_the_run_with_what_to_do(tmp_path: Path) -> None:
    async with (
        provider("openai", before=lambda number, what: Fault(404, "no such route")) as server,
        opened(server, tmp_path / "j.sqlite") as run,
    ):
        with pytest.raises(FatalModelError, match=r"the target's batch was refused.*404") as caught:
            await run.many()
        assert caught.value.hint
        assert KEY not in str(caught.value)
    assert run.journal.committed == 1, "the call that went ahead"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_batch_that_takes_too_long_is_ended(kind: str, tmp_path: Path) -> None:
    settings = BatchSettings(frozenset({"rollout"}), least=2, collect_s=0.02, poll_s=0.01, wait_s=0.1)
    async with provider(kind, looks=10**6) as server, opened(server, tmp_path / "j.sqlite", settings=settings) as run:
        assert [r.text for r in await run.many()] == [f"echo question {n}" for n in range(12)]
        assert sum("cancel" in what for what in server.asked) == 1
        assert any("has taken" in line for line in run.told)


async def test_too_few_are_asked_one_by_one(tmp_path: Path) -> None:
    settings = BatchSettings(frozenset({"rollout"}), least=9, collect_s=0.02, poll_s=0.01)
    async with provider("openai") as server, opened(server, tmp_path / "j.sqlite", settings=settings) as run:
        await run.many(9)
        assert not server.batches and len(server.live_bodies) == 9


async def test_other_stages_do_not_wait(tmp_path: Path) -> None:
    async with provider("openai") as server, opened(server, tmp_path / "j.sqlite") as run:
        await run.many(stage="gate")
        assert not server.asked and len(server.live_bodies) == 12


async def test_a_run_that_is_to_end_does_not_wait_for_its_batch(tmp_path: Path) -> None:
    async with provider("openai", looks=10**6) as server, opened(server, tmp_path / "j.sqlite") as run:
        waiting = asyncio.ensure_future(run.many())
        while not any("batches/#" in what for what in server.asked):
            await asyncio.sleep(0.005)
        run.stop = True
        with pytest.raises(Interrupted):
            await waiting
        assert len(run.journal.get_meta("batches")) == 1, "it stays in the book"


async def test_answers_that_nobody_waits_for_any_more_are_kept(tmp_path: Path) -> None:
    async with provider("openai", looks=3) as server, opened(server, tmp_path / "j.sqlite") as run:
        calls = [asyncio.ensure_future(run.client.chat(question(n))) for n in range(12)]
        while not any("batches/#" in what for what in server.asked):
            await asyncio.sleep(0.005)
        for call in calls[6:]:
            call.cancel()
        await asyncio.gather(*calls[:6])
        assert run.journal.count("chat") == 12
        assert await run.client.chat(question(11)) and len(server.live_bodies) == 1


async def test_a_long_common_beginning_is_kept_for_an_hour_and_read_by_the_rows(tmp_path: Path) -> None:
    skill = "a rule of the skill. " * 400
    async with provider("anthropic") as server, opened(server, tmp_path / "j.sqlite") as run:
        await run.many(system=skill)
        mark = {"type": "ephemeral", "ttl": "1h"}
        bodies = [*server.live_bodies, *server.rows]
        assert [body["system"][-1]["cache_control"] for body in bodies] == [mark] * 12


@pytest.mark.parametrize("kind", KINDS)
async def test_a_batch_is_cut_where_the_provider_has_a_limit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provider(kind) as server, opened(server, tmp_path / "j.sqlite") as run:
        api: Any = run.desk._api
        monkeypatch.setattr(type(api), "limits", type(api.limits)(rows=4, bytes=10**6))
        await run.many()
        assert sorted(len(batch.rows) for batch in server.batches.values()) == [3, 4, 4]


# --- kills ------------------------------------------------------------------------------------------------------------


async def _killed_at(server: BatchProvider, path: Path, number: int, when: str) -> bool:
    """Run until the `number`-th request to the batch API has come in (or was done) and leave it unanswered. False when
    the run ended before."""
    reached = asyncio.Event()

    async def hold() -> None:
        reached.set()
        await asyncio.Event().wait()

    def count(at: int, what: str) -> Any:
        return hold() if at == number else None

    setattr(server, when, count)
    run = Run(server, path)
    work = asyncio.ensure_future(run.many())
    await asyncio.wait({work, asyncio.ensure_future(reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
    died = reached.is_set()
    if not died:
        await work
    await run.killed()
    if not work.done():
        work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    setattr(server, when, lambda at, what: None)
    return died


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_dies_at_any_request_sends_nothing_twice(kind: str, tmp_path: Path) -> None:
    for number in range(1, 12):
        async with provider(kind) as server:
            path = tmp_path / f"{number}.sqlite"
            died = await _killed_at(server, path, number, "after")
            async with opened(server, path) as run:
                assert [r.text for r in await run.many()] == [f"echo question {n}" for n in range(12)]
                assert set(server.submitted.values()) == {1}, f"request {number}: {server.asked}"
                assert len(server.live_bodies) <= 1 + 1, "the next process may let one go ahead again"
                assert sum(row.calls for row in run.journal.ledger()) == 12
                assert run.journal.get_meta("batches") == []
        if not died:
            assert number > 4
            return
    raise AssertionError("the run never ended by itself")


def test_a_price_table_says_what_a_batch_costs() -> None:
    from skillopt.model.prices import load_prices
    from skillopt.model.types import Usage

    find: Callable[[str], Price | None] = load_prices().find
    for model in ("gpt-5.5", "claude-sonnet-4-6"):
        price = find(model)
        assert price is not None
        usage = Usage(1000, 100)
        assert price.usd(usage, batched=True) == pytest.approx((price.usd(usage) or 0) / 2)
    kept = find("claude-sonnet-4-6")
    assert kept is not None
    # A million written for an hour costs twice a fresh million, for five minutes 1.25 times.
    assert kept.usd(Usage(10**6, 0, written_tokens=10**6, hour_tokens=10**6)) == pytest.approx(6.0)
    assert kept.usd(Usage(10**6, 0, written_tokens=10**6)) == pytest.approx(3.75)
