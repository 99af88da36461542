"""The real programs through the driver's model proxy: the dialects they speak, streamed, with a token in the place of
the key. A program that is not installed is skipped."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.agent_model_server import AgentModelServer
from skillopt.engine.run.spending.budget import Budget
from skillopt.harnesses.job import Endpoint
from skillopt.model.prices import load_prices
from skillopt.model.proxy.relay import Upstream
from skillopt.model.proxy.server import ModelProxy
from skillopt.model.traffic.pool import LimiterPool
from tests.agents.stand_in import task
from tests.agents.test_real_clis import SOLVE, backends, opened

pytestmark = pytest.mark.slow
KEY = "sk-endpoint-0123456789abcdef"


@backends
async def test_a_task_is_solved_through_the_proxy(backend: str, tmp_path: Path) -> None:
    pool, budget = LimiterPool(), Budget()
    with AgentModelServer(SOLVE, api_key=KEY) as server, opened(backend, server, tmp_path, key=KEY) as agent:
        upstream = Upstream(Endpoint(server.url).root, KEY, "scripted-model", 2, price=lambda m: load_prices().find(m))
        proxy = ModelProxy(
            upstream, host="127.0.0.1", journal=agent.journal, purse=budget,
            limiter=pool.limiter(server.url), breaker=pool.breaker(server.url),
        )  # fmt: skip
        agent.meter = budget
        agent.settings = replace(agent.settings, proxy=proxy)
        attempt = await agent.attempt(task(deadline_s=120))
        await agent.aclose()
        await proxy.aclose()
        assert attempt.lost == ""
        assert attempt.text == "It is <answer>12</answer>."
        assert attempt.notes["skill_read"] is True
        assert (attempt.tokens["prompt_tokens"], attempt.tokens["cached_tokens"]) == (300, 120)
        assert budget.used.calls == 1
        assert budget.used.tokens == sum(r.prompt_tokens + r.completion_tokens for r in agent.journal.ledger()) > 300
        asked = json.dumps([attempt.trajectory, [e.value for e in agent.journal.entries()]])  # it ran `env`
        assert KEY not in asked
        assert agent.journal.count("proxied") == 3
        assert os.environ.get("SKILLOPT_ENDPOINT_KEY") is None
