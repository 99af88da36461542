"""Whole runs for tests and benchmarks: the real command line in processes of its own, against a counting server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from skillopt.core.json_types import as_number
from skillopt.testing.latency_server import LatencyServer
from skillopt.testing.toy_task import write_config
from skillopt.testing.trees import tree
from skillopt.testing.zygote import Ended, Zygote


class Rig:
    """A server, a zygote and a configuration; `train` runs the command line on a named directory."""

    def __init__(self, zygote: Zygote, server: LatencyServer, root: Path, data: Path) -> None:
        self.zygote, self.server, self.root, self.data = zygote, server, root, data

    def config(self, **changes: object) -> Path:
        return write_config(self.root / "config.yaml", self.data, self.server.url, **changes)

    def arguments(self, name: str, *more: str) -> list[str]:
        config = self.root / "config.yaml"
        if not config.exists():
            self.config()
        return ["train", "--config", str(config), f"env.out_root={self.root / name}", *more]

    async def command(self, *arguments: str, die: str = "", environ: dict[str, str] | None = None) -> Ended:
        """Any `skillopt` command line."""
        return await asyncio.to_thread(self.zygote.run, list(arguments), die=die, environ=environ)

    async def train(self, name: str, *more: str) -> Ended:
        return await self.command(*self.arguments(name, *more))

    async def done(self, name: str, *more: str) -> dict[str, bytes]:
        ended = await self.train(name, *more)
        assert ended.code == 0, ended.err or ended.out
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
        return int(as_number(self.server.stats.to_json()["started"]) or 0)
