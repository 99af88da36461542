"""Pushes: one reader a run, shared by everybody who watches it, and an address that streams what it finds.

The reader looks at the run's event log and pulse a few times a second while somebody watches, and stops a while after
the last one has left. What is sent is rendered once, however many watch.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from skillopt.records.events import EpochResult, GateVerdict, RunEnd, StepEnd
from skillopt.records.live.control import Pulse, read_pulse
from skillopt.records.live.following import Follower
from skillopt.store.lock import is_locked
from skillopt_webui.watch.seen import Seen

LOOK_S = 0.4
LINGER_S = 20.0
KEEP_ALIVE_S = 15.0

Render = Callable[["Feed"], dict[str, str]]


@dataclass
class Feed:
    """One run. `version` counts what could be seen, `records` the events that changed what stands on the disk."""

    path: Path
    seen: Seen = field(default_factory=Seen)
    pulse: Pulse | None = None
    alive: bool = False
    version: int = 0
    records: int = 0
    watchers: int = 0
    _follower: Follower = field(init=False)
    _parts: tuple[int, dict[str, str]] = (-1, {})
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it has been read up to now for the first time."""

    def __post_init__(self) -> None:
        self._follower = Follower(self.path)

    def look(self) -> bool:
        """Read what is new. Blocking; true when something is."""
        before = self.version
        while block := self._follower.new():
            if self._follower.again:
                self.seen, self.records = Seen(), 0
            for event in block:
                self.seen.take(event)
            self.records += sum(isinstance(e, (StepEnd, GateVerdict, EpochResult, RunEnd)) for e in block)
            self.version += 1
        alive, pulse = is_locked(self.path), read_pulse(self.path)
        if (alive, pulse) != (self.alive, self.pulse):
            self.alive, self.pulse = alive, pulse
            self.version += 1
        return self.version != before

    @property
    def mark(self) -> str:
        """What a page was made from; another mark asks for a fresh one. The same in every server."""
        mode = (self.pulse.paused, self.pulse.stopping) if self.pulse is not None else (False, False)
        return f"{self.records}-{self.alive:d}{mode[0]:d}{mode[1]:d}"

    def parts(self, render: Render) -> dict[str, str]:
        """The live parts of a page as HTML, by element id; made once a version."""
        if self._parts[0] != self.version:
            self._parts = (self.version, render(self))
        return self._parts[1]

    def tell(self) -> None:
        """Wake who waits."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def moved(self, timeout_s: float) -> None:
        """Until something is new, or the time is over."""
        try:
            await asyncio.wait_for(self._moved.wait(), timeout_s)
        except asyncio.TimeoutError:
            return


class Feeds:
    """All runs that somebody watches."""

    def __init__(self) -> None:
        self._feeds: dict[Path, Feed] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}

    async def of(self, path: Path) -> Feed:
        """The feed of a run, read up to now."""
        feed = self._feeds.get(path)
        if feed is None:
            feed = self._feeds[path] = Feed(path)
            self._tasks[path] = asyncio.get_running_loop().create_task(self._watch(path, feed))
        await feed.ready.wait()
        return feed

    def mark(self, path: Path) -> str:
        """The mark of a run that somebody watches; blank for others."""
        feed = self._feeds.get(path)
        return feed.mark if feed is not None else ""

    async def _watch(self, path: Path, feed: Feed) -> None:
        idle = 0.0
        try:
            while idle < LINGER_S:
                if await run_in_threadpool(feed.look):
                    feed.tell()
                feed.ready.set()
                await asyncio.sleep(LOOK_S)
                idle = 0.0 if feed.watchers else idle + LOOK_S
        finally:
            feed.ready.set()
            self._tasks.pop(path, None)
            self._feeds.pop(path, None)

    async def close(self) -> None:
        """End all readers."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def message(name: str, data: object) -> str:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def stream(body: AsyncGenerator[str, None]) -> StreamingResponse:
    """A stream of server-sent events."""
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def follow(feed: Feed, render: Render, at: str = "") -> AsyncGenerator[str, None]:
    """What changes, part by part; `changed` when the page that was made `at` a mark is no longer the whole truth."""
    feed.watchers += 1
    sent: dict[str, str] = {}
    version, mark = -1, at or feed.mark
    try:
        yield "retry: 2000\n\n"
        while True:
            if feed.version != version:
                version = feed.version
                parts = {k: v for k, v in feed.parts(render).items() if sent.get(k) != v}
                sent.update(parts)
                if parts:
                    yield message("parts", parts)
            if feed.mark != mark:
                mark = feed.mark
                yield message("changed", mark)
            if (feed.version, feed.mark) == (version, mark):
                await feed.moved(KEEP_ALIVE_S)
                if feed.version == version:
                    yield ": alive\n\n"
    finally:
        feed.watchers -= 1
