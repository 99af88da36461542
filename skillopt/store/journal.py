"""The journal: resume, caching and replay in one mechanism.

`once(key, thunk)` answers a known key at once and runs an unknown one; the result is committed before it is returned,
with nothing between the answer's arrival and the commit. Commits happen on the event loop: one takes about 0.03 ms,
less than handing it to a thread, and the window in which a kill would pay a call twice stays as short as it can be.
What a thunk raises is stored nowhere; the next call runs again. The value returned is always the stored one, as JSON
sees it, so a first run and a resumed run see equal values.

A shared journal (the user's cache) may stand behind it: what is found there is copied here with no calls and no usage.
In replay the file is only read; a miss raises `ReplayMiss` and the thunk never runs.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillopt.core.errors import JournalError, ReplayMiss
from skillopt.store.database import Database, LedgerRow, Row, decode, encode, typed_errors
from skillopt.store.filesystem import filesystem_of, is_shared
from skillopt.store.writer import BackgroundWriter

__all__ = ["Entry", "Journal", "LedgerRow", "Recorded"]

_CHECKPOINT_EVERY = 500
_SHARED_READ_BUSY_S = 0.05


@dataclass(frozen=True)
class Recorded:
    """What a thunk hands over. `value` is JSON; labels are for the ledger; None in a number means unknown, never 0."""

    value: Any
    kind: str
    stage: str = ""
    role: str = ""
    model: str = ""
    calls: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    usd: float | None = None
    elapsed_s: float | None = None


@dataclass(frozen=True)
class Entry:
    """A stored result. `fresh` is True for the one caller whose thunk ran; `shared` marks a copy of the cache's."""

    key: str
    value: Any
    fresh: bool
    kind: str
    stage: str
    role: str
    model: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    usd: float | None
    elapsed_s: float | None
    created_at: float
    shared: bool
    seq: int


@dataclass
class _Flight:
    """A thunk that is running, and how many callers wait for it."""

    task: asyncio.Task[Entry]
    waiters: int = 0
    closing: bool = False


class Journal:
    """One run's journal. Use `open`; asyncio callers use `once`, the rest is synchronous and may be called anywhere."""

    def __init__(
        self,
        database: Database,
        *,
        shared: Path | None,
        share_back: bool,
        replay: bool,
        on_shared_problem: Callable[[str], None] | None,
    ) -> None:
        self._database, self._replay = database, replay
        self._on_shared_problem = on_shared_problem
        self._flights: dict[str, _Flight] = {}
        # Serialises use of the connection; held for one statement, never across an await.
        self._lock = threading.Lock()
        self._commits = 0
        self.known = database.last()
        """The last entry that stood here when this process began."""
        self._closed = False
        # What a replay wants to write stays in memory.
        self._overlay: dict[str, Row] = {}
        self._overlay_meta: dict[str, Any] = {}
        filesystem = filesystem_of(shared) if shared is not None and share_back else ""
        refused = is_shared(filesystem)
        shared = None if refused else shared
        self._background = BackgroundWriter(database.path, shared if share_back and not replay else None)
        if refused:
            self._background.report(
                f"the shared journal is not used: {filesystem} cannot hold one; set model.shared_cache to a local path"
            )
            self._tell_problem()
        self._shared = None if shared is None or replay else self._open_shared(shared, read_only=not share_back)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        shared: Path | None = None,
        share_back: bool = True,
        replay: bool = False,
        on_shared_problem: Callable[[str], None] | None = None,
    ) -> Journal:
        """Open or create the file. Raises `JournalError` when it is foreign, damaged, newer or cannot be written.

        `shared` is the user's cache; trouble with it never fails a run, `on_shared_problem` hears of it once. In
        `replay` it is not consulted. With `share_back=False` it is only read: the journal of a run whose answers are
        used again by work that is no part of the run.
        """
        if not replay:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as fault:
                raise JournalError(f"journal {path}: {fault.strerror}", hint="choose another out_root") from fault
        database = Database(path, read_only=replay)
        return cls(database, shared=shared, share_back=share_back, replay=replay, on_shared_problem=on_shared_problem)

    @property
    def replay(self) -> bool:
        """True when nothing may be run or written."""
        return self._replay

    @property
    def committed(self) -> int:
        """Entries this process has added. While it is 0, everything asked for was known already."""
        return self._commits

    async def once(self, key: str, thunk: Callable[[], Awaitable[Recorded]], *, label: str = "") -> Entry:
        """The entry of `key`; runs `thunk` when there is none. `label` (kind and stage) names the call in a miss.

        Callers of one key share one run. Each may be cancelled alone; the run is cancelled, and waited for, when the
        last one leaves. What the thunk raises reaches every waiter. Raises `ReplayMiss` and `JournalError`.
        """
        while True:
            entry = self.get(key)
            if entry is not None:
                return entry
            if self._replay:
                raise ReplayMiss(
                    f"the recorded journal has no answer for {label or 'a call'} (key {key[:12]})",
                    hint="replay the same configuration, data and version as recorded, or run without --replay",
                )
            flight = self._flights.get(key)
            if flight is not None and flight.task.done():
                flight = None  # it failed in this very turn of the loop; this caller runs again
            if flight is not None and flight.closing:
                # A cancelled run may still deliver; waiting for its end keeps the call from being paid twice.
                await asyncio.wait({flight.task})
                continue
            first = flight is None
            if flight is None:
                flight = self._start(key, thunk)
            entry = await self._join(flight)
            return entry if first else replace(entry, fresh=False)

    def get(self, key: str) -> Entry | None:
        """The stored entry of `key`, here or in the shared journal, or None."""
        with self._lock:
            row = self._database.find(key)
        if row is None and self._replay:
            row = self._overlay.get(key)  # seq 0: never in a file
        if row is not None:
            return self._entry(row)
        return self._from_shared(key) if self._shared is not None else None

    def put_now(self, key: str, recorded: Recorded) -> Entry:
        """Commit a small fact at once. A key that exists keeps its first value, which is returned."""
        value, encoding = encode(recorded.value)
        r = recorded
        labels = (r.kind, r.stage, r.role, r.model)
        tokens = (r.prompt_tokens, r.completion_tokens, r.cached_tokens, r.reasoning_tokens)
        return self._store((key, value, encoding, *labels, r.calls, *tokens, r.usd, r.elapsed_s, time.time(), 0))

    def ledger(self) -> list[LedgerRow]:
        """Sums by role, model and stage over the calls this run paid; equals the sum of the entries."""
        with self._lock:
            return self._database.ledger()

    def count(self, kind: str | None = None) -> int:
        """Number of entries, of one kind or all."""
        with self._lock:
            return self._database.count(kind)

    def entries(self, kind: str | None = None) -> Iterator[Entry]:
        """Entries in the order they were written, a page at a time."""
        after = 0
        while True:
            with self._lock:
                rows = self._database.page(after, kind)
            if not rows:
                return
            for row in rows:
                yield self._entry(row)
            after = rows[-1][0]

    def get_meta(self, name: str) -> Any:
        """A stored fact about the run (its fingerprint, for one), or None."""
        if name in self._overlay_meta:
            return self._overlay_meta[name]
        with self._lock:
            return self._database.get_meta(name)

    def set_meta(self, name: str, value: Any) -> None:
        """Commit a JSON fact about the run, replacing an older one."""
        if self._replay:
            self._overlay_meta[name] = value
            return
        with self._lock:
            self._database.set_meta(name, value)

    async def aclose(self) -> None:
        """Cancel and await what is in flight, then close. Idempotent."""
        for flight in list(self._flights.values()):
            flight.closing = True
            await _end(flight.task)
        self.close()

    def close(self) -> None:
        """Finish the background work and close the files. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._background.close()
        self._tell_problem()
        with self._lock:
            if self._shared is not None:
                self._shared.close()
            self._database.close()

    def _start(self, key: str, thunk: Callable[[], Awaitable[Recorded]]) -> _Flight:
        async def run() -> Entry:
            recorded = await thunk()
            return replace(self.put_now(key, recorded), fresh=True)

        flight = _Flight(asyncio.ensure_future(run()))
        self._flights[key] = flight
        flight.task.add_done_callback(lambda _: self._land(key, flight))
        return flight

    def _land(self, key: str, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _join(self, flight: _Flight) -> Entry:
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                flight.closing = True
                await _end(flight.task)

    def _store(self, row: Row) -> Entry:
        """Commit a row unless its key exists; the stored entry either way."""
        key: str = row[0]
        if self._replay:
            return self.get(key) or self._entry(self._overlay.setdefault(key, (0, *row)))
        with self._lock:
            seq = self._database.insert(row)
            stored = (seq, *row) if seq is not None else self._database.find(key)
        if stored is None:
            raise JournalError(f"journal {self._database.path}: an entry vanished while it was written")
        if seq is not None:
            self._commits += 1
            if self._commits % _CHECKPOINT_EVERY == 0 and self._database.wal:
                self._background.checkpoint()
            shareable, copied = row[7] > 0, row[15]
            if self._shared is not None and shareable and not copied:
                self._background.share(row)
        self._tell_problem()
        return self._entry(stored)

    def _entry(self, row: Row) -> Entry:
        seq, key, value, encoding, *labels_and_usage, created_at, shared = row
        try:
            with typed_errors(self._database.path):
                decoded = decode(value, encoding)
        except ValueError as fault:
            raise JournalError(
                f"journal {self._database.path}: entry {key[:12]} is damaged", hint="restore a copy of the file"
            ) from fault
        kind, stage, role, model, calls, prompt, completion, cached, reasoning, usd, elapsed_s = labels_and_usage
        return Entry(
            key=key,
            value=decoded,
            fresh=False,
            kind=kind,
            stage=stage,
            role=role,
            model=model,
            calls=calls,
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached,
            reasoning_tokens=reasoning,
            usd=usd,
            elapsed_s=elapsed_s,
            created_at=created_at,
            shared=bool(shared),
            seq=seq,
        )

    def _open_shared(self, path: Path, *, read_only: bool) -> Database | None:
        try:
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            return Database(path, read_only=read_only, busy_timeout_s=_SHARED_READ_BUSY_S)
        except (JournalError, OSError) as fault:
            self._background.report(f"the shared journal is not used: {fault}")
            self._tell_problem()
            return None

    def _from_shared(self, key: str) -> Entry | None:
        """Copy an entry of the shared journal here, as an answer that cost this run nothing."""
        try:
            with self._lock:
                row = self._shared.find(key) if self._shared is not None else None
        except JournalError as fault:
            self._background.report(str(fault))
            self._tell_problem()
            return None
        if row is None:
            return None
        _, key, value, encoding, kind, stage, role, model, *_ = row
        return self._store((key, value, encoding, kind, stage, role, model, 0, 0, 0, 0, 0, 0.0, None, time.time(), 1))

    def _tell_problem(self) -> None:
        problem = self._background.take_problem()
        if problem and self._on_shared_problem is not None:
            self._on_shared_problem(problem)


async def _end(task: asyncio.Task[Entry]) -> None:
    """Cancel `task` and wait until it has really stopped, even when the waiter is cancelled again meanwhile.

    Called on the way out of a cancellation, which the caller then lets through.
    """
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not report it as lost
