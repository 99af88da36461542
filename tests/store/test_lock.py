"""One writer per directory, freed by the kernel when the holder dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from skillopt.core.errors import RunDirError
from skillopt.store.lock import LOCK_NAME, RunLock

HOLD = """
import sys, time
from pathlib import Path
from skillopt.store.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_twice_in_one_process(tmp_path):
    with RunLock(tmp_path / "a"), RunLock(tmp_path / "b"):
        with pytest.raises(RunDirError, match=f"this process .pid {os.getpid()}"):
            RunLock(tmp_path / "a")
        assert (tmp_path / "a" / LOCK_NAME).read_text() == f"{os.getpid()}\n"
    again = RunLock(tmp_path / "a")
    again.release()
    again.release()


def test_other_process_is_named_and_its_death_frees_the_lock(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        with pytest.raises(RunDirError, match=f"written by process {child.pid}"):
            RunLock(tmp_path)
        child.send_signal(signal.SIGKILL)
        child.wait()
        RunLock(tmp_path).release()
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunDirError, match="cannot write"):
        RunLock(tmp_path / "file")
