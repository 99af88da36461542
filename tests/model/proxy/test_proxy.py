"""The driver's model proxy, between a client and a provider that counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from skillopt.core.errors import BudgetExceeded, ConfigError
from skillopt.engine.run.spending.budget import Budget, Limits, Ticket
from skillopt.model.prices import load_prices
from skillopt.model.proxy.relay import Upstream
from skillopt.model.proxy.server import ModelProxy
from skillopt.model.proxy.unit import ProxiedUnit
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.traffic.pool import Limits as Widths
from skillopt.model.types import Usage
from skillopt.store.journal import Journal
from tests.model.proxy.provider import KEY, Provider

PATHS = {
    "chat": ("/v1/chat/completions", "authorization"),
    "responses": ("/v1/responses", "authorization"),
    "messages": ("/v1/messages?beta=true", "x-api-key"),
    "contents": ("/v1beta/models/g-1:generateContent", "x-goog-api-key"),
    "contents stream": ("/v1beta/models/g-1:streamGenerateContent?alt=sse", "x-goog-api-key"),
}


class Rig:
    """A proxy in front of a provider, and units with a reservation of `tokens` each."""

    def __init__(self, provider: Provider, journal: Journal, budget: Budget, width: int) -> None:
        self.provider, self.journal, self.budget = provider, journal, budget
        pool, prices = LimiterPool(), load_prices()
        upstream = Upstream(provider.root, KEY, "m", 3, price=lambda model: prices.find(model))
        account = provider.root
        self.proxy = ModelProxy(
            upstream, host="127.0.0.1", journal=journal, purse=budget, breaker=pool.breaker(account),
            limiter=pool.limiter(account, Widths(width=width, ceiling=width)),
        )  # fmt: skip

    @asynccontextmanager
    async def unit(self, key: str = "k", generation: int = 0, tokens: int = 100_000) -> AsyncGenerator[ProxiedUnit]:
        ticket: Ticket = await self.budget.reserve(
            role="target", model="m", prompt_tokens=tokens, completion_tokens=0, usd=0.0
        )
        unit = ProxiedUnit(key, generation, "rollout", self.budget, ticket, Usage(tokens, 0), 0.0, 30.0)
        try:
            async with self.proxy.admitted(unit):
                yield unit
        finally:
            usage, usd = unit.spent(unit.paid)
            self.budget.settle(ticket, usage=usage, usd=usd)

    async def ask(
        self, token: str, dialect: str = "chat", *, text: str = "hello", stream: bool = False, method: str = "POST"
    ) -> tuple[int, bytes]:
        path, header = PATHS.get(dialect, (dialect, "authorization"))
        body: dict[str, Any] = {
            "model": "m",
            "messages": [text],
            "max_tokens": 50,
            **({"stream": True} if stream else {}),
        }
        given = f"Bearer {token}" if header == "authorization" else token
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.proxy.root + path, json=body, headers={header: given}) as response,
        ):
            return response.status, await response.read()


@asynccontextmanager
async def rig(
    place: Path, provider: Provider | None = None, *, width: int = 8, caps: Limits | None = None
) -> AsyncGenerator[Rig]:
    journal = Journal.open(place / "journal.sqlite3")
    async with provider or Provider() as server:
        made = Rig(server, journal, Budget(limits=caps or Limits()), width)
        try:
            await made.proxy.open()
            yield made
        finally:
            await made.proxy.aclose()
            await journal.aclose()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["chat", "responses", "messages", "contents"])
async def test_each_dialect_passes_unchanged_with_the_key_in_the_place_of_the_token(
    tmp_path: Path, dialect: str, stream: bool
) -> None:
    if dialect == "contents" and stream:
        dialect = "contents stream"
    async with rig(tmp_path) as r:
        async with r.unit() as unit:
            status, got = await r.ask(unit.token, dialect, stream=stream)
        path, header = PATHS[dialect]
        async with (
            aiohttp.ClientSession() as direct,
            direct.post(r.provider.root + path, json=r.provider.seen[0][2]) as response,
        ):
            assert (status, got) == (200, await response.read())
        asked, headers, _ = r.provider.seen[0]
        assert asked == path
        assert {k.lower(): v for k, v in headers.items()}[header].removeprefix("Bearer ") == KEY
        assert unit.token not in str(r.provider.seen)
        usage, _ = unit.spent(unit.calls)
        assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (11, 5, 4)
        assert (r.budget.used.calls, r.budget.used.tokens) == (1, 16)


async def test_a_token_is_good_while_its_unit_runs_and_for_what_programs_need(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        async with r.unit() as unit, r.unit("other") as other:
            assert unit.token != other.token
            assert (await r.ask("guessed"))[0] == (await r.ask(""))[0] == 401
            for method, path in (
                ("POST", "/v1/files"), ("DELETE", "/v1/models/m"), ("GET", "/v1/chat/completions"),
                ("POST", "/v1/../admin"), ("GET", "/v1/models/../../keys"), ("POST", "/v1/fine_tuning/jobs"),
            ):  # fmt: skip
                assert (await r.ask(unit.token, path, method=method))[0] == 404, path
            assert not r.provider.seen
            assert (await r.ask(unit.token, "/v1/models", method="GET"))[0] == 200
        status, said = await r.ask(unit.token)
        assert status == 401
        assert b"has ended" in said
        assert len(r.provider.seen) == 1
        assert unit.spent(unit.calls)[0] == Usage(0, 0)


async def test_the_servers_refusal_goes_back_as_it_said_it_and_passing_faults_are_tried_again(tmp_path: Path) -> None:
    def busy() -> web.Response:
        return web.Response(status=429, text="slow down", headers={"retry-after": "0"})

    async with rig(tmp_path) as r, r.unit() as unit:
        r.provider.first = [busy(), web.Response(status=500, text="oops", headers={"retry-after": "0"})]
        assert (await r.ask(unit.token, stream=True))[0] == 200
        r.provider.first = [web.Response(status=400, text='{"error":{"message":"no such tool"}}')]
        assert await r.ask(unit.token, text="b") == (400, b'{"error":{"message":"no such tool"}}')
        r.provider.first = [busy(), busy(), busy()]
        assert await r.ask(unit.token, text="c") == (429, b"slow down")
        assert len(r.provider.seen) == 7
        assert len(unit.paid) == 1


async def test_no_more_calls_are_under_way_than_the_limiter_allows_over_all_units(tmp_path: Path) -> None:
    async with rig(tmp_path, Provider(width=8, seconds=0.01), width=8) as r:

        async def program(n: int) -> None:
            async with r.unit(f"k{n}") as unit:
                answers = await asyncio.gather(*(r.ask(unit.token, text=f"{n} {i}", stream=bool(i)) for i in range(3)))
                assert [status for status, _ in answers] == [200] * 3

        await asyncio.gather(*(program(n) for n in range(20)))
        assert (r.provider.most, r.provider.refused, len(r.provider.seen)) == (8, 0, 60)


async def test_a_repeated_unit_is_answered_from_the_journal_and_another_try_asks_anew(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        for generation, asked in ((0, 2), (0, 2), (1, 4)):
            async with r.unit(generation=generation) as unit:
                first = await r.ask(unit.token, stream=True)
                assert await r.ask(unit.token, stream=True) == first  # the same question twice: two calls
            assert len(r.provider.seen) == asked
            assert unit.spent(unit.calls)[0].prompt_tokens == 22
        assert r.budget.used.tokens == 4 * 16
        rows = list(r.journal.entries("proxied"))
        assert len(rows) == 4
        assert sum(row.calls for row in rows) == 0, "the run's own row has the figures"
        assert KEY not in str(rows)
        assert all(unit.token not in str(row) for row in rows)


async def test_a_call_beyond_the_budget_is_not_made_and_stops_the_run(tmp_path: Path) -> None:
    async with rig(tmp_path, caps=Limits(tokens=1000)) as r, r.unit(tokens=200) as unit:
        assert (await r.ask(unit.token))[0] == 200
        assert not unit.stopped.done()
        status, said = await r.ask(unit.token, text="long " * 1000)
        assert status == 403
        assert b"budget reached: tokens" in said
        with pytest.raises(BudgetExceeded):
            await unit.stopped
        assert len(r.provider.seen) == 1


async def test_what_a_unit_reserves_more_is_reserved_of_the_run(tmp_path: Path) -> None:
    async with rig(tmp_path, caps=Limits(tokens=10_000)) as r:
        async with r.unit(tokens=10) as unit:
            await r.ask(unit.token, text="x" * 1000)
            grown = r.budget.reserved.tokens
            assert 500 < grown < 1000
            await r.ask(unit.token, text="y" * 1000)  # what the first call did not use covers most of it
            assert grown <= r.budget.reserved.tokens <= grown + 32
        assert (r.budget.reserved.tokens, r.budget.reserved.calls) == (0, 0)
        assert (r.budget.used.tokens, r.budget.used.calls) == (32, 1)


async def test_units_that_all_wait_for_more_do_not_wait_for_each_other(tmp_path: Path) -> None:
    provider = Provider()
    async with rig(tmp_path, provider, caps=Limits(tokens=3000)) as r:

        async def program(n: int) -> int:
            async with r.unit(f"k{n}", tokens=1400) as unit:
                return (await r.ask(unit.token, text="x" * 4000))[0]

        assert sorted(await asyncio.wait_for(asyncio.gather(program(1), program(2)), 20)) == [200, 403]


async def test_a_broken_stream_is_broken_for_the_program_and_in_no_journal(tmp_path: Path) -> None:
    async with rig(tmp_path) as r, r.unit() as unit:
        r.provider.torn = True
        with pytest.raises(aiohttp.ClientError):
            await r.ask(unit.token, "messages", stream=True)
        assert r.journal.count("proxied") == 0
        assert len(unit.paid) == 1, "it may be billed"
        r.provider.torn = False
        assert (await r.ask(unit.token, "messages", stream=True))[0] == 200


async def test_the_end_of_a_unit_ends_its_calls(tmp_path: Path) -> None:
    provider = Provider()
    provider.gate = asyncio.Event()
    async with rig(tmp_path, provider) as r:
        async with r.unit() as unit:
            asking = asyncio.ensure_future(r.ask(unit.token))
            while not provider.now:
                await asyncio.sleep(0.001)
        with pytest.raises(aiohttp.ClientError):
            await asking
        while provider.now:
            await asyncio.sleep(0.001)
        assert len(unit.paid) == 1, "what was sent may be billed"


async def test_an_address_of_another_machine_is_refused_in_one_line(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        r.proxy.host = "192.0.2.1"
        await r.proxy.aclose()
        with pytest.raises(ConfigError, match=r"cannot listen at 192\.0\.2\.1"):
            await r.proxy.open()
