"""SIGTERM and SIGHUP end a run in order, whatever the process inherited; the next start goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.toy_task import answer, write_config, write_data

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")


def plain() -> None:
    """Nothing inherited."""


def background() -> None:
    """A background job of a script without job control."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)


def deaf() -> None:
    """A parent that ignored and blocked SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def nohup() -> None:
    """What `nohup` does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("inherited", "number"),
    [
        (plain, signal.SIGTERM),
        (plain, signal.SIGHUP),
        (background, signal.SIGTERM),
        (background, signal.SIGHUP),
        (deaf, signal.SIGTERM),
    ],
    ids=["plain-TERM", "plain-HUP", "background-TERM", "background-HUP", "deaf-TERM"],
)
async def test_ends_in_order(inherited: Callable[[], None], number: signal.Signals, tmp_path: Path) -> None:
    async with LatencyServer(Behaviour(median_s=0.4), answer) as server:
        started = await _start(server, tmp_path, inherited)
        started.send_signal(number)
        out, err = await asyncio.wait_for(started.communicate(), 20)
        assert started.returncode == 130, (out, err)
        assert b"Traceback" not in err and b"run the same command again" in err
        paid = server.stats.to_json()["started"]
        await asyncio.sleep(0.3)
        assert server.stats.to_json()["started"] == paid, "nothing spends on"
    assert not list((tmp_path / "run").glob("*.lock-journal"))


@pytest.mark.parametrize(
    ("inherited", "number"), [(nohup, signal.SIGHUP), (background, signal.SIGINT)], ids=["nohup-HUP", "background-INT"]
)
async def test_what_was_asked_to_be_ignored_is(
    inherited: Callable[[], None], number: signal.Signals, tmp_path: Path
) -> None:
    async with LatencyServer(Behaviour(median_s=0.4), answer) as server:
        started = await _start(server, tmp_path, inherited)
        started.send_signal(number)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(started.wait(), 1)
        started.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(started.wait(), 20) == 130


async def _start(server: LatencyServer, place: Path, inherited: Callable[[], None]) -> asyncio.subprocess.Process:
    """A training run with calls under way."""
    config = write_config(place / "config.yaml", write_data(place / "data"), server.url)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "skillopt", "train", "--config", str(config), f"env.out_root={place / 'run'}",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, preexec_fn=inherited,
        env={**os.environ, "CI": "true"},
    )  # fmt: skip
    for _ in range(600):
        if server.stats.to_json()["completed"] >= 2:
            return process
        assert process.returncode is None, await process.communicate()
        await asyncio.sleep(0.05)
    raise AssertionError("no call arrived")
