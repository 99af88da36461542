"""The guard: transparent for the program, and the end of everything the program began."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.harnesses.guarded import start
from tests.work.processes import gone, lives

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no guard on Windows")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="adoption of orphans is Linux's")

TREE = """
import subprocess, sys, time, os
sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleeper, start_new_session=True)
orphan = subprocess.run([sys.executable, "-S", "-c",
    "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True,"
    " stdout=-3, stderr=-3).pid)", *sleeper], stdout=-1, text=True)
print(os.getpid(), child.pid, orphan.stdout.strip(), flush=True)
time.sleep(float(sys.argv[1]))
"""
"""A program with a child in a session of its own, and a grandchild whose parent has gone."""


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("kill -11 $$", -11)])
async def test_the_exit_code_is_the_programs(script: str, code: int) -> None:
    assert await (await start(["/bin/sh", "-c", script])).wait() == code


async def test_streams_folder_and_environment_are_the_programs(tmp_path: Path) -> None:
    program = await start(
        ["sh", "-c", "cat; pwd; echo $A >&2"],
        env={"PATH": os.environ["PATH"], "A": "b"},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await program.process.communicate(b"in\n")
    assert (out.decode(), err) == (f"in\n{tmp_path.resolve()}\n", b"b\n")
    assert await program.wait() == 0


@pytest.mark.parametrize(("argv", "error"), [(["no-such-program"], FileNotFoundError), (["/etc"], PermissionError)])
async def test_a_program_that_cannot_be_started_raises_as_a_direct_start(argv: list[str], error: type[OSError]) -> None:
    with pytest.raises(error):
        await start(argv)


async def test_a_nul_in_an_argument_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="null"):
        await start(["/bin/echo", "a\0b"])


async def test_signals_are_passed_on() -> None:
    program = await start(
        ["sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"], stdout=subprocess.PIPE
    )
    assert program.process.stdout is not None
    await program.process.stdout.readline()
    program.process.send_signal(signal.SIGTERM)
    assert await program.wait() == 7


@LINUX
@pytest.mark.parametrize("seconds", [0.0, 600.0], ids=["program ends", "program is ended"])
async def test_nothing_of_the_tree_is_left(seconds: float) -> None:
    program = await start([sys.executable, "-c", TREE, str(seconds)], stdout=subprocess.PIPE)
    assert program.process.stdout is not None
    pids = [int(word) for word in (await program.process.stdout.readline()).split()]
    assert len(pids) == 3
    if seconds:
        assert all(map(lives, pids))
        program.ask(now=False)
    assert await program.wait() == (-15 if seconds else 0)
    assert gone(pids, 0.1), "wait() returned while something of the program was left"


@LINUX
async def test_a_program_that_ignores_the_polite_end_is_killed() -> None:
    program = await start(["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done"], stdout=subprocess.PIPE)
    assert program.process.stdout is not None
    await program.process.stdout.readline()
    program.ask(now=False)
    assert await asyncio.wait_for(program.wait(), 60) == -9


PARENT = """
import asyncio, sys
from skillopt.harnesses.guarded import start
async def main():
    await (await start([sys.executable, "-c", sys.argv[1], "600"])).wait()
asyncio.run(main())
"""


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_program_dies_with_its_parent_however_that_ends(number: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, TREE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert pids and all(map(lives, pids))
    parent.send_signal(number)
    parent.wait(10)
    parent.stdout.close()
    assert gone(pids), "a program outlived its parent"


@LINUX
async def test_a_killed_guard_takes_the_program_with_it() -> None:
    program = await start(["sleep", "600"])
    program.process.kill()
    await program.wait()
    assert gone([program.pid])


@LINUX
async def test_starts_leave_no_file_open() -> None:
    await (await start(["/bin/true"])).wait()
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*[(await start(["/bin/true"])).wait() for _ in range(8)])
    assert len(os.listdir("/proc/self/fd")) <= before
