"""S32 on the whole command: `run` killed (SIGKILL) from reading sessions to staging, then run again.

A kill comes at the n-th file opened for writing, directory changed, or connection made, as Python audits them; the
points are spread evenly over all of an uninterrupted run. One call at a time, so that at most the one that was on its
way is asked again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.sleep.cli.main import main
from tests.sleep.test_run import NIGHT, Server, ask, server  # noqa: F401  (fixtures)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _in_child(work: Callable[[], object], die_at: int, count: Path) -> bool:
    """Run `work` in a child that is killed at its n-th event; whether it was. The number of events goes to `count`."""
    child = os.fork()
    if child == 0:
        seen = 0

        def hook(event: str, args: tuple[object, ...]) -> None:
            nonlocal seen
            writes = event == "open" and isinstance(args[2], int) and args[2] & _WRITING
            if writes or event in ("os.rename", "os.mkdir", "os.remove", "sqlite3.connect", "socket.connect"):
                seen += 1
                if seen == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            work()
        finally:
            done = seen
            count.write_text(str(done))
            os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def _staged(project: Path) -> dict[str, str]:
    """The staged bytes without the night's name, its minutes and the names of temporary places."""
    [root] = [p for p in project.glob(".skillopt-sleep/staging/*") if (p / "manifest.json").is_file()]
    found = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}
    found.pop("report.json")
    return {name: re.sub(r"[\d.]+ minutes", "", text.replace(root.name, "NIGHT")) for name, text in found.items()}


def _campaign(ask, server: Server, tmp_path: Path, points: int) -> None:  # noqa: F811
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "workers": 1}))
    count, words = tmp_path / "count", [*NIGHT, "--project", str(ask.project), "--config", str(config)]

    def run() -> int:
        return main(["run", *words])

    assert not _in_child(run, 10**9, count)
    whole, paid, events = _staged(ask.project), len(server.prompts), int(count.read_text())
    for k in range(points):
        for place in (ask.project / ".skillopt-sleep", tmp_path / "state"):
            shutil.rmtree(place, ignore_errors=True)
        server.prompts.clear()
        at = 1 + (events * 9 // 10) * k // max(1, points - 1)  # one run has a few events more than another
        assert _in_child(run, at, count), at
        before = len(server.prompts)
        assert not _in_child(run, 10**9, count)
        assert _staged(ask.project) == whole, at
        assert len(server.prompts) <= paid + (before > 0), at


@pytest.mark.thorough
def test_s32_the_command_killed_at_three_points(ask, server: Server, tmp_path: Path) -> None:  # noqa: F811
    _campaign(ask, server, tmp_path, 3)


@pytest.mark.slow_campaign
def test_s32_the_command_killed_at_fifty_points(ask, server: Server, tmp_path: Path) -> None:  # noqa: F811
    _campaign(ask, server, tmp_path, 50)
