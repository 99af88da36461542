"""SIGTERM and SIGHUP end a run in order, whatever the process inherited; the next start goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.toy_task import answer, write_config, write_data
from skillopt.testing.zygote import Zygote, kill_group

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")

SLOW = Behaviour(median_s=0.2, sigma=0.1)
"""Calls are under way when the signal comes."""


@dataclass(frozen=True)
class Parent:
    """What a process may inherit from the one that starts it."""

    ignored: tuple[signal.Signals, ...] = ()
    blocked: tuple[signal.Signals, ...] = ()

    def apply(self) -> None:
        """Between fork and exec."""
        for number in self.ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, self.blocked)


PLAIN = Parent()
BACKGROUND = Parent((signal.SIGINT, signal.SIGQUIT))
"""A background job of a script without job control."""
DEAF = Parent((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM,))
"""A parent that ignored and blocked SIGTERM."""
NOHUP = Parent((signal.SIGHUP,)) if hasattr(signal, "SIGHUP") else PLAIN
"""What `nohup` does."""


@dataclass(frozen=True)
class Ended:
    code: int
    err: str


@dataclass(frozen=True)
class Started:
    """A run under way: its process and its end."""

    pid: int
    ended: asyncio.Future[Ended]


Start = Callable[[LatencyServer, Parent], Awaitable[Started]]


@pytest.fixture(params=["forked", "executed"])
def start(request: pytest.FixtureRequest, zygote: Zygote, tmp_path: Path) -> Start:
    """A run with calls under way, as a fork of a prepared process or as a new interpreter."""

    async def forked(arguments: list[str], parent: Parent) -> Started:
        pid = zygote.start(
            arguments, environ={"CI": "true"}, cwd=tmp_path, ignored=parent.ignored, blocked=parent.blocked
        )

        def wait() -> Ended:
            done = zygote.wait()
            return Ended(done.code, done.err)

        return Started(pid, asyncio.ensure_future(asyncio.to_thread(wait)))

    async def executed(arguments: list[str], parent: Parent) -> Started:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "skillopt", *arguments, stdout=asyncio.subprocess.DEVNULL, cwd=tmp_path,
            stderr=asyncio.subprocess.PIPE, preexec_fn=parent.apply, env={**os.environ, "CI": "true"},
            start_new_session=True,
        )  # fmt: skip

        async def wait() -> Ended:
            _, err = await process.communicate()
            assert process.returncode is not None
            return Ended(process.returncode, err.decode())

        return Started(process.pid, asyncio.ensure_future(wait()))

    async def begin(server: LatencyServer, parent: Parent) -> Started:
        config = write_config(tmp_path / "config.yaml", write_data(tmp_path / "data"), server.url)
        arguments = ["train", "--config", str(config), f"env.out_root={tmp_path / 'run'}"]
        started = await (forked if request.param == "forked" else executed)(arguments, parent)
        await answered(server, 2, started)
        return started

    return begin


async def answered(server: LatencyServer, more: int, started: Started) -> None:
    """Wait until `more` further calls have been answered."""
    wanted = server.stats.completed + more
    while server.stats.completed < wanted:
        assert not started.ended.done(), started.ended.result()
        await asyncio.sleep(0.01)


async def end_of(started: Started) -> Ended:
    """Its end; a run that does not end is killed, so that the test fails and does not wait for ever."""
    try:
        return await asyncio.wait_for(asyncio.shield(started.ended), 60)
    finally:
        if not started.ended.done():
            kill_group(started.pid)
            await started.ended


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("start", "parent", "number"),
    [
        pytest.param("forked", PLAIN, signal.SIGTERM, id="plain-TERM"),
        pytest.param("forked", PLAIN, signal.SIGHUP, id="plain-HUP"),
        pytest.param("forked", BACKGROUND, signal.SIGTERM, id="background-TERM"),
        pytest.param("forked", BACKGROUND, signal.SIGHUP, id="background-HUP"),
        pytest.param("executed", DEAF, signal.SIGTERM, id="deaf-TERM"),
    ],
    indirect=["start"],
)
async def test_ends_in_order(start: Start, parent: Parent, number: signal.Signals, tmp_path: Path) -> None:
    async with LatencyServer(SLOW, answer) as server:
        started = await start(server, parent)
        os.kill(started.pid, number)
        ended = await end_of(started)
        assert ended.code == 130, ended.err
        assert "Traceback" not in ended.err and "run the same command again" in ended.err
        paid = server.stats.started
        await asyncio.sleep(0.3)
        assert server.stats.started == paid, "nothing spends on"
    assert not list((tmp_path / "run").glob("*.lock-journal"))


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("start", "parent", "number"),
    [
        pytest.param("forked", NOHUP, signal.SIGHUP, id="nohup-HUP"),
        pytest.param("executed", BACKGROUND, signal.SIGINT, id="background-INT"),
    ],
    indirect=["start"],
)
async def test_what_was_asked_to_be_ignored_is(start: Start, parent: Parent, number: signal.Signals) -> None:
    async with LatencyServer(SLOW, answer) as server:
        started = await start(server, parent)
        os.kill(started.pid, number)
        await answered(server, 25, started)  # three rounds of the eight workers: it goes on
        os.kill(started.pid, signal.SIGTERM)
        assert (await end_of(started)).code == 130
