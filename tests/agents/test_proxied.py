"""Agent programs that reach their model through the driver's proxy: what they are given, what is counted and kept."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agents.exec import ExecAgent
from skillopt.core.errors import BudgetExceeded, FatalModelError
from skillopt.engine.run.spending.budget import Budget, Limits
from skillopt.model.prices import load_prices
from skillopt.model.proxy.relay import Upstream
from skillopt.model.proxy.server import ModelProxy
from skillopt.model.traffic.pool import LimiterPool
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from tests.agents.stand_in import Stand, task
from tests.model.proxy.provider import KEY, Provider


@asynccontextmanager
async def proxied(
    stand: Stand, provider: Provider, *, executor: Executor | None = None
) -> AsyncGenerator[tuple[ExecAgent, Budget]]:
    """An agent whose program asks the provider through a proxy."""
    agent = stand.agent(executor=executor, keep=stand.place / "logs" / "agents")
    budget, pool = Budget(), LimiterPool()
    upstream = Upstream(provider.root, KEY, "m", 2, price=lambda model: load_prices().find(model))
    proxy = ModelProxy(
        upstream, host="127.0.0.1", journal=agent.journal, purse=budget,
        limiter=pool.limiter(provider.root), breaker=pool.breaker(provider.root),
    )  # fmt: skip
    agent.meter = budget
    agent.settings = replace(agent.settings, proxy=proxy)
    try:
        yield agent, budget
    finally:
        await agent.aclose()
        await proxy.aclose()


async def test_the_program_gets_a_token_and_the_run_what_it_used(stand: Stand) -> None:
    async with Provider() as provider, proxied(stand.plan({"ask": 3, "answer": "12"}), provider) as (agent, budget):
        attempt = await agent.attempt(task())
        assert (attempt.text, attempt.lost) == ("12", "")
        (call,) = stand.calls
        token = call["env"]["SKILLOPT_ENDPOINT_KEY"]
        assert token not in (KEY, stand.secret)
        assert agent.settings.proxy is not None
        assert agent.settings.proxy.root in " ".join(call["argv"])
        assert call["env"]["NO_PROXY"].endswith("127.0.0.1")
        assert attempt.tokens["prompt_tokens"] == 33, "what the calls used, not what the program says (100)"
        assert (budget.used.calls, budget.used.tokens, budget.reserved.tokens) == (1, 48, 0)
        (row,) = [row for row in agent.journal.ledger() if row.calls]
        assert (row.calls, row.prompt_tokens, row.completion_tokens) == (1, 33, 15)
        kept = [path.read_bytes() for path in (stand.place / "logs").rglob("*") if path.is_file()]
        assert kept
        assert not any(secret.encode() in text for text in kept for secret in (token, KEY, stand.secret))
        assert not any(secret in str(list(agent.journal.entries())) for secret in (token, KEY))


async def test_a_lost_worker_costs_no_answer_twice(stand: Stand) -> None:
    pool = LocalExecutor(slots=2)
    plan = stand.plan({"ask": 2, "sleep_after": 60, "answer": "late"}, {"ask": 3, "answer": "12"})
    async with Provider() as provider, proxied(plan, provider, executor=pool) as (agent, budget):
        running = asyncio.ensure_future(agent.attempt(task()))
        while not (stand.place / "asked-0").exists():
            await asyncio.sleep(0.01)
        (member,) = pool._members
        os.kill(member.pid, signal.SIGKILL)
        attempt = await running
        assert (attempt.text, len(provider.seen)) == ("12", 3)
        assert budget.used.tokens == 3 * 16, "the lost try is settled at what it used"
        assert sum(row.prompt_tokens for row in agent.journal.ledger()) == 33
        await pool.aclose()


async def test_a_program_that_goes_beyond_the_budget_is_ended_with_the_run(stand: Stand) -> None:
    plan = stand.plan({"ask": 9000, "sleep_after": 60, "answer": "late"})
    async with Provider() as provider, proxied(plan, provider) as (agent, budget):
        agent.expected.prompt_tokens = agent.expected.completion_tokens = 10
        budget.limits = Limits(tokens=1200)
        with pytest.raises(BudgetExceeded):
            await agent.attempt(task())
        assert budget.used.tokens <= 1200
        assert len(provider.seen) < 80
        assert budget.reserved.tokens == 0


async def test_a_node_without_a_login_is_named(stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    agent = stand.plan({"answer": "12"}).agent(executor=InlineExecutor(), endpoint=None, node_login=True)
    with pytest.raises(FatalModelError, match=r"has no login: there is no .*/\.codex/auth\.json"):
        await agent.attempt(task())
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").write_text("{}")
    assert (await agent.attempt(task())).text == "12"
    await agent.aclose()
