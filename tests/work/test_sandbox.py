"""Code of a model in its sandbox: what it may do, and that what the audit hook misses is held by the kernel."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.harnesses.launch import Finished, run
from skillopt.work.confinement.confined import watch
from skillopt.work.confinement.sandbox import Limits, confined, weakness

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


ESCAPES = """
import ctypes, os, sys
libc, other, victim = ctypes.CDLL(None, use_errno=True), int(sys.argv[1]), sys.argv[2].encode()
def refused(name, result):
    if result != -1: print(name, result)
refused("kill", libc.kill(other, 9)); refused("kill of itself", libc.kill(os.getpid(), 9))
refused("tgkill", libc.tgkill(other, other, 9)); refused("tgkill of itself", libc.tgkill(os.getpid(), os.getpid(), 9))
refused("group", libc.killpg(os.getpgid(other), 0)); refused("pidfd", libc.syscall(434, other, 0))
refused("limits of another", libc.prlimit(other, 7, None, ctypes.create_string_buffer(16)))
refused("priority", libc.setpriority(0, other, 19)); refused("ptrace", libc.ptrace(16, other, None, None))
refused("memory of another", libc.process_vm_writev(other, None, 0, None, 0, 0))
refused("io_uring", libc.syscall(425, 8, ctypes.create_string_buffer(120)))
refused("datagrams", libc.socket(2, 2, 0)); refused("unix", libc.socket(1, 1, 0))
refused("execve", libc.execv(b"/bin/echo", (ctypes.c_char_p * 2)(b"echo", None)))
refused("namespace", libc.unshare(0x10000000)); refused("chroot", libc.chroot(b"."))
refused("shm", libc.shmget(9, 64, 950))
refused("owner", libc.chown(victim, 1, 1)); refused("attribute", libc.setxattr(victim, b"user.a", b"x", 1, 0))
refused("truncate", libc.truncate(victim, 0)); refused("link", libc.link(victim, b"linked"))
refused("move", libc.rename(victim, b"m"))
libc.chmod(victim, 0o777); libc.utimes(victim, None)
import resource, signal
resource.getrlimit(resource.RLIMIT_NOFILE); signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
signal.raise_signal(signal.SIGUSR1)
"""


@LINUX
async def test_neither_processes_nor_files_outside_are_touched(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("whole")
    victim.chmod(0o640)
    before = victim.stat()
    other = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        finished = await ran(tmp_path, "-c", ESCAPES, str(other.pid), str(victim))
        assert (finished.exit_code, finished.stdout, finished.stderr) == (0, "heard\n", "")
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
    after = victim.stat()
    assert victim.read_text() == "whole" and (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


async def test_copying_a_file_with_its_mode_and_times_works(tmp_path: Path) -> None:
    finished = await ran(tmp_path, "-c", "import shutil; open('a', 'w').write('x'); shutil.copy2('a', 'b')")
    assert (finished.exit_code, finished.stderr) == (0, "") and (tmp_path / "work/b").read_text() == "x"


async def test_what_an_editable_installation_names_cannot_be_read(tmp_path: Path) -> None:
    """A project's directory may hold the gold workbooks below `data/`."""
    finished = await ran(tmp_path, "-c", "import skillopt.core")
    assert "Error" in finished.stderr and finished.exit_code == 1


def test_without_the_kernel_the_hook_holds_what_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "read.txt").touch()
    hook = watch(str(tmp_path / "work"), [str(tmp_path / "read.txt")])
    hook("open", (str(tmp_path / "read.txt"), "r", 0))
    hook("open", (str(tmp_path / "work/any"), "w", os.O_WRONLY))
    hook("open", (3, "r", 0))
    for event, path in (("open", "gold.txt"), ("open", "read.txt.more"), ("os.listdir", "."), ("os.scandir", "gold")):
        with pytest.raises(PermissionError, match="reading outside the working directory"):
            hook(event, (str(tmp_path / path), "r", 0))
    for event in ("os.utime", "os.setxattr", "os.chmod"):
        with pytest.raises(PermissionError, match="writing outside the working directory"):
            hook(event, (str(tmp_path / "read.txt"),))
    with pytest.raises(PermissionError, match="another process"):
        hook("os.kill", (1, 9))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("landlock seccomp", ""),
        ("seccomp", "does not hold the files (Landlock) of"),
        ("", "does not hold the files (Landlock) and network and processes (seccomp) of"),
    ],
)
def test_what_a_kernel_does_not_hold_is_said(monkeypatch: pytest.MonkeyPatch, held: str, said: str) -> None:
    done = subprocess.CompletedProcess([], 0, stdout=held, stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    sentence = weakness.__wrapped__()
    assert said in sentence and bool(sentence) == bool(said)


@LINUX
def test_this_kernel_is_asked_once(tmp_path: Path) -> None:
    assert weakness() == "" and weakness() is weakness()


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
