"""The simulated provider itself: luck is repeatable, counts are right, and it runs as a script."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from skillopt.testing import latency_server
from skillopt.testing.latency_server import Behaviour, LatencyServer

FAULTY = Behaviour(rate_429=0.2, rate_500=0.2, rate_cut=0.1, rate_empty_body=0.1)


async def post(url, text):
    async with aiohttp.ClientSession() as session:
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        try:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                return response.status, await response.text(), response.headers.get("Retry-After")
        except aiohttp.ClientError as error:
            return 0, type(error).__name__, None


async def test_the_same_bytes_meet_the_same_fate():
    outcomes = []
    for _ in range(2):
        async with LatencyServer(FAULTY) as server:
            outcomes.append([(await post(server.url, f"q{i}"))[0] for i in range(40)])
    assert outcomes[0] == outcomes[1]
    assert {200, 429, 500} <= set(outcomes[0])


async def test_counts_by_body_and_busy_time():
    async with LatencyServer(Behaviour(median_s=0.05, sigma=0)) as server:
        await asyncio.gather(*(post(server.url, text) for text in ("a", "b", "b")))
        stats = server.stats.to_json()
    assert (stats["started"], stats["completed"], stats["distinct"], stats["paid_twice"]) == (3, 3, 2, 1)
    assert stats["peak"] == 3 and 0.14 < stats["busy_s"] < 0.3


@pytest.mark.parametrize("reject", [False, True])
async def test_width_queues_or_rejects(reject):
    behaviour = Behaviour(median_s=0.05, sigma=0, width=2, reject_above_width=reject, retry_after_s=3)
    async with LatencyServer(behaviour) as server:
        results = await asyncio.gather(*(post(server.url, f"q{i}") for i in range(6)))
        assert server.stats.peak == 2
    assert [status for status, *_ in results].count(200) == (2 if reject else 6)
    assert {wish for status, _, wish in results if status == 429} == ({"3"} if reject else set())


async def test_own_answers():
    async with LatencyServer(answer=lambda body: ("42", None)) as server:
        _, text, _ = await post(server.url, "x")
    reply = json.loads(text)
    assert reply["choices"][0]["message"]["content"] == "42" and "usage" not in reply


def test_as_a_script():
    script = Path(latency_server.__file__)
    process = subprocess.Popen(
        [sys.executable, str(script), "--median-s", "0.001", "--unauthorized"], stdout=subprocess.PIPE, text=True
    )
    try:
        url = process.stdout.readline().strip()
        assert asyncio.run(post(url, "x"))[0] == 401
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
