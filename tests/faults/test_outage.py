"""A night's run and an endpoint that is down for a while: it waits, tries, goes on, and ends with the same bytes."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from skillopt.testing.rig import Rig
from skillopt.testing.trees import differences, tree
from skillopt.testing.zygote import kill_group

AFTER = 40
"""Calls of a run before its endpoint goes down: in the middle of the first step."""


@asynccontextmanager
async def refusing(rig: Rig) -> AsyncGenerator[None]:
    """503 to all."""
    before = rig.server.behaviour
    rig.server.behaviour = dataclasses.replace(before, unavailable=True)
    yield
    rig.server.behaviour = before


@asynccontextmanager
async def gone(rig: Rig) -> AsyncGenerator[None]:
    """Nobody listens."""
    await rig.server.__aexit__()
    yield
    await rig.server.__aenter__()


async def until(condition: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), 120)


def outages(rig: Rig, name: str = "run") -> list[dict[str, Any]]:
    """The events about it so far; the last line may be half written."""
    path = rig.root / name / "logs/events.jsonl"
    lines = path.read_text().rpartition("\n")[0].splitlines() if path.is_file() else []
    return [e for e in map(json.loads, lines) if e["event"].startswith("outage.")]


@pytest.mark.cases(1)
@pytest.mark.parametrize("down", [refusing, gone])
async def test_a_run_waits_for_its_endpoint(rig: Rig, down: Any) -> None:
    healthy = await rig.finished("healthy")
    calls = rig.calls
    run = asyncio.ensure_future(rig.train("run"))
    await until(lambda: rig.calls >= calls + AFTER)
    async with down(rig):
        await until(lambda: bool(outages(rig)))
    ended = await run
    assert ended.code == 0, ended.err
    assert differences(healthy, tree(rig.root / "run")) == [], "no zero, nothing missing, the same decisions"
    assert [e["event"] for e in outages(rig)] == ["outage.start", "outage.end"]
    assert "waiting for it" in ended.out and "answers again after" in ended.out


@pytest.mark.thorough
async def test_it_gives_up_in_order_and_goes_on_when_asked(rig: Rig) -> None:
    healthy = await rig.finished("healthy")
    calls = rig.calls
    rig.config(train__outage_minutes=0.02)
    run = asyncio.ensure_future(rig.train("run"))
    await until(lambda: rig.calls >= calls + AFTER)
    async with refusing(rig):
        ended = await run
        assert ended.code == 1
        last = (ended.err + ended.out).strip().splitlines()[-1]
        assert "did not answer for 1.2 s" in last and "temporarily unavailable" in last
        assert outages(rig)[-1]["outcome"] == "stopped"
    again = await rig.train("run")
    assert again.code == 0, again.err
    assert set(differences(healthy, tree(rig.root / "run"))) <= {"config.json", "config.yaml"}


@pytest.mark.thorough
async def test_killed_while_it_waits_and_started_again(rig: Rig) -> None:
    healthy = await rig.finished("healthy")
    calls = rig.calls
    pid = await asyncio.to_thread(rig.zygote.start, rig.arguments("run"))
    ended = asyncio.ensure_future(asyncio.to_thread(rig.zygote.wait))
    await until(lambda: rig.calls >= calls + AFTER)
    async with refusing(rig):
        await until(lambda: bool(outages(rig)))
        kill_group(pid)
        assert (await ended).code == -signal.SIGKILL
        again = asyncio.ensure_future(rig.train("run"))
        await until(lambda: len(outages(rig)) >= 2)
    assert (await again).code == 0
    assert differences(healthy, tree(rig.root / "run")) == []


@pytest.mark.thorough
async def test_ends_in_order_while_it_waits(rig: Rig) -> None:
    healthy = await rig.finished("healthy")
    calls = rig.calls
    pid = await asyncio.to_thread(rig.zygote.start, rig.arguments("run"))
    ended = asyncio.ensure_future(asyncio.to_thread(rig.zygote.wait))
    await until(lambda: rig.calls >= calls + AFTER)
    async with refusing(rig):
        await until(lambda: bool(outages(rig)))
        os.kill(pid, signal.SIGINT)
        stopped = await asyncio.wait_for(ended, 120)
    assert stopped.code == 130, stopped.err
    assert "run the same command again" in stopped.err and "Traceback" not in stopped.err
    assert differences(healthy, await rig.done("run")) == []


@pytest.mark.thorough
async def test_a_users_fault_ends_the_wait(rig: Rig) -> None:
    calls = rig.calls
    run = asyncio.ensure_future(rig.train("run"))
    await until(lambda: rig.calls >= calls + AFTER)
    async with refusing(rig):
        await until(lambda: bool(outages(rig)))
        rig.server.behaviour = dataclasses.replace(rig.server.behaviour, unauthorized=True)
        ended = await asyncio.wait_for(run, 120)
    assert ended.code == 1
    assert "Incorrect API key" in (ended.err + ended.out).strip().splitlines()[-1]
