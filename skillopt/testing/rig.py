"""Whole runs for tests and benchmarks: the real command line in processes of its own, against a counting server.

A run that many tests start from (an undisturbed one, to compare with) is made once: `Rig.finished` copies it.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import json
import shutil
import socket
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.core.json_types import JsonValue
from skillopt.testing.latency_server import LatencyServer
from skillopt.testing.stats import Stats
from skillopt.testing.toy_task import answer, write_config, write_data
from skillopt.testing.trees import tree
from skillopt.testing.zygote import Ended, Zygote


@contextlib.contextmanager
def reserved_port() -> Generator[int]:
    """A port that servers of this process may listen on one after the other and nobody else is given.

    The socket that holds it never listens, so that a connection is refused while no server is up.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@dataclass(frozen=True)
class FinishedRun:
    """A run directory and what its server had seen."""

    path: Path
    stats: Stats
    bodies: list[dict[str, JsonValue]]
    headers: list[dict[str, str]]

    def give(self, path: Path, server: LatencyServer) -> None:
        """Leave directory and server as the run left them."""
        shutil.copytree(self.path, path)
        server.stats = copy.deepcopy(self.stats)
        server.bodies, server.headers = copy.deepcopy(self.bodies), copy.deepcopy(self.headers)


class FinishedRuns:
    """Runs by what made them: configuration (the server's address and the data are in it) and overrides."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: dict[tuple[str, ...], FinishedRun] = {}

    def find(self, key: tuple[str, ...]) -> FinishedRun | None:
        """The run of a key, None where none was kept."""
        return self._made.get(key)

    def keep(self, key: tuple[str, ...], path: Path, server: LatencyServer) -> None:
        """Keep a copy of a run, the first that this server served."""
        copied = Path(shutil.copytree(path, self._root / f"run{len(self._made)}"))
        seen = (server.stats, server.bodies or [], server.headers)
        self._made[key] = FinishedRun(copied, *copy.deepcopy(seen))


class Rig:
    """A server, a zygote and a configuration; `train` runs the command line on a named directory."""

    def __init__(
        self, zygote: Zygote, server: LatencyServer, root: Path, data: Path, kept: FinishedRuns | None = None
    ) -> None:
        self.zygote, self.server, self.root, self.data, self._kept = zygote, server, root, data, kept
        self._shared_data, self._healthy = data, server.behaviour
        self.short_waits = False
        """See `Zygote.start`."""

    def own_data(self) -> Path:
        """Data that this test may change, for configurations written from now on."""
        self.data = write_data(self.root / "data")
        return self.data

    def config(self, **changes: object) -> Path:
        return write_config(self.root / "config.yaml", self.data, self.server.url, **changes)

    def arguments(self, name: str, *more: str) -> list[str]:
        config = self.root / "config.yaml"
        if not config.exists():
            self.config()
        return ["train", "--config", str(config), f"env.out_root={self.root / name}", *more]

    async def command(self, *arguments: str, die: str = "", environ: dict[str, str] | None = None) -> Ended:
        """Any `skillopt` command line."""
        run = functools.partial(self.zygote.run, die=die, environ=environ, short_waits=self.short_waits)
        return await asyncio.to_thread(run, list(arguments))

    async def train(self, name: str, *more: str) -> Ended:
        return await self.command(*self.arguments(name, *more))

    async def done(self, name: str, *more: str) -> dict[str, bytes]:
        """Train to the end. A first run that nothing tells from another test's is a copy of that, as by `finished`."""
        first = self._kept is not None and not self.calls and not (self.root / name).exists()
        plain = self.server.answer is answer and self.server.behaviour == self._healthy
        if first and plain and self.data == self._shared_data:
            return await self.finished(name, *more)
        ended = await self.train(name, *more)
        assert ended.code == 0, ended.err or ended.out
        return tree(self.root / name)

    async def finished(self, name: str, *more: str) -> dict[str, bytes]:
        """As `done`, as the first run of a healthy server; it may be a copy of one that another test waited for."""
        assert self.server.answer is answer and not self.calls, "another server makes another run"
        arguments = self.arguments(name, *more)
        key = ((self.root / "config.yaml").read_text(), *more)
        run = self._kept.find(key) if self._kept else None
        if run is not None:
            run.give(self.root / name, self.server)
            return tree(self.root / name)
        ended = await self.command(*arguments)
        assert ended.code == 0, ended.err or ended.out
        if self._kept is not None:
            self._kept.keep(key, self.root / name, self.server)
        return tree(self.root / name)

    def read(self, name: str, path: str) -> Any:
        """A JSON view of a run."""
        return json.loads((self.root / name / path).read_text())

    def events(self, name: str) -> list[dict[str, Any]]:
        """The event log of a run."""
        text = (self.root / name / "logs/events.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    @property
    def calls(self) -> int:
        """Requests that have arrived so far."""
        return self.server.stats.started
