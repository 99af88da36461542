"""Code of a model in its sandbox: what it may do, and that what the audit hook misses is held by the kernel."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from skillopt.harnesses.launch import Finished, run
from skillopt.work.sandbox import Limits, confined

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
RAW = """
import ctypes, os
libc = ctypes.CDLL(None)
print(libc.fork(), libc.socket(2, 1, 0), libc.open(b"/tmp/skillopt-outside", 66, 511), libc.creat(b"inside", 511) > 0)
"""


async def ran(place: Path, *arguments: str, limits: Limits | None = None) -> Finished:
    folder = place / "work"
    folder.mkdir(exist_ok=True)
    return await asyncio.wait_for(run(confined(folder, arguments, limits or Limits()), place / "logs"), 60)


async def test_ordinary_code_runs(tmp_path: Path) -> None:
    code = "import sys, threading, tempfile, os\nt = threading.Thread(target=print, args=('thread',))\n"
    code += "t.start(); t.join()\n"
    code += "open('made.txt', 'w').write(tempfile.gettempdir()); tempfile.TemporaryFile(); print(sys.argv, os.getcwd())"
    finished = await ran(tmp_path, "-c", code, "one")
    assert (finished.exit_code, finished.stderr) == (0, "")
    assert finished.stdout.splitlines() == ["thread", f"['-c', 'one'] {tmp_path / 'work'}"]
    assert (tmp_path / "work/made.txt").read_text() == str(tmp_path / "work")


async def test_a_program_finds_its_neighbours_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/helper.py").write_text("VALUE = 7\n")
    (tmp_path / "work/main.py").write_text("import sys, helper\nprint(helper.VALUE, sys.argv, __name__)\n")
    assert (await ran(tmp_path, "main.py", "x")).stdout == "7 ['main.py', 'x'] __main__\n"


@LINUX
async def test_the_kernel_holds_what_ctypes_reaches(tmp_path: Path) -> None:
    finished = await ran(tmp_path, "-c", RAW)
    assert finished.stdout == "-1 -1 -1 True\n", finished.stderr
    assert not Path("/tmp/skillopt-outside").exists()


@LINUX
async def test_files_outside_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text("the answer")
    finished = await ran(tmp_path, "-c", f"print(open({str(tmp_path / 'gold.txt')!r}).read())")
    assert "PermissionError" in finished.stderr and not finished.stdout


async def test_a_file_that_is_too_large_and_memory_that_is_not_there(tmp_path: Path) -> None:
    limits = Limits(memory_mb=400, file_mb=1)
    finished = await ran(tmp_path, "-c", "open('big', 'wb').write(b'x' * 3_000_000)", limits=limits)
    assert finished.exit_code != 0 and (tmp_path / "work/big").stat().st_size <= 1 << 20
    assert "MemoryError" in (await ran(tmp_path, "-c", "bytearray(600_000_000)", limits=limits)).stderr


async def test_it_sees_no_variable_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    finished = await ran(tmp_path, "-c", "import os; print(sorted(os.environ))")
    assert "OPENAI" not in finished.stdout and "PYTHONPATH" not in finished.stdout
