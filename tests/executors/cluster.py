"""A Ray cluster of two nodes on this machine, for tests: started by `ray start`, known by a mark in the environment of
all its processes, so that each can be found and killed, and that none is left."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = "SKILLOPT_TEST_CLUSTER"
HEAD, SECOND = "127.0.0.1", "127.0.0.2"
_START_S = 300


class TwoNodes:
    """Head and second node with one core each."""

    def __init__(self, *, second: Mapping[str, str] | None = None, token: bool = True) -> None:
        self.mark = secrets.token_hex(8)
        self.folder = Path(tempfile.mkdtemp(prefix="rt-", dir="/tmp"))  # short: sockets lie in it
        self.token = secrets.token_hex(32) if token else ""
        self.port = _free_port()
        self.env = {**os.environ, **self.access, MARK: self.mark, "PYTHONPATH": str(ROOT)}
        self.env |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": str(_START_S)}
        self.start_head()
        self.start_second(second)

    @property
    def address(self) -> str:
        return f"{HEAD}:{self.port}"

    @property
    def head(self) -> str:
        """The head by the address that Ray knows it by: where there is a network, not the loopback one it was given."""
        lines = [line for _, line in self._processes() if "raylet/raylet" in line]
        found = {line.partition("--node_ip_address=")[2].split(" ")[0] for line in lines} - {SECOND}
        assert len(found) == 1, found
        return found.pop()

    @property
    def access(self) -> dict[str, str]:
        """What a driver needs in its environment."""
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token} if self.token else {"RAY_AUTH_MODE": "disabled"}

    def start_head(self) -> None:
        self._start(self.env, "--head", f"--port={self.port}", f"--node-ip-address={HEAD}",
                    "--include-dashboard=false", f"--temp-dir={self.folder}")  # fmt: skip

    def start_second(self, env: Mapping[str, str] | None = None) -> None:
        self._start({**self.env, **(env or {})}, f"--address={self.address}", f"--node-ip-address={SECOND}")

    def _start(self, env: Mapping[str, str], *arguments: str) -> None:
        command = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus=1", "--disable-usage-stats",
                   "--object-store-memory=80000000", *arguments]  # fmt: skip
        try:
            done = subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=_START_S, check=False)
        except subprocess.TimeoutExpired:
            self.stop()  # what it has begun by now would stay
            raise
        if done.returncode:
            self.stop()
            raise RuntimeError(f"ray start failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def pids(self, *words: str) -> list[int]:
        """Living processes of the cluster whose command line holds these words; all without any."""
        return [pid for pid, line in self._processes() if all(word in line for word in words)]

    def gcs(self) -> list[int]:
        return self.pids("gcs_server")

    def raylet(self, ip: str) -> list[int]:
        return self.pids("raylet/raylet", f"--node_ip_address={ip}")

    def workers(self) -> list[int]:
        """Processes of ours on the nodes: actors and whatever they began."""
        return [pid for pid, line in self._processes() if _ours(line)]

    def tree(self, ip: str) -> list[int]:
        """A node's raylet and all that descends from it."""
        found = self.raylet(ip)
        parents = {pid: _parent(pid) for pid, _ in self._processes()}
        while more := [pid for pid, parent in parents.items() if parent in found and pid not in found]:
            found += more
        return found

    def stop(self) -> None:
        """Kill all of it."""
        until = time.monotonic() + 30
        while (left := self.pids()) and time.monotonic() < until:
            kill(left, signal.SIGCONT)
            kill(left, signal.SIGKILL)
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _processes(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with suppress(OSError, IndexError):
                    state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
                    if state not in "ZX" and wanted in Path(f"/proc/{entry}/environ").read_bytes():
                        line = (
                            Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                        )
                        found.append((int(entry), line))
        return found


def kill(pids: list[int], number: int = signal.SIGKILL) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def until(what: object, seconds: float = 60.0) -> bool:
    """Wait for a condition."""
    assert callable(what)
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _ours(line: str) -> bool:
    return (
        "ray::NodeWorker" in line
        or "harnesses/guard.py" in line
        or "skillopt.work.worker" in line
        or "sleep(600)" in line
    )


def _parent(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HEAD, 0))
        return int(one.getsockname()[1])
