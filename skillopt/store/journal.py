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
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt.core.errors import JournalError, ReplayMiss
from skillopt.store.database import Database, LedgerRow, Row
from skillopt.store.entry import Entry, Recorded, copied, entry_of, may_be_shared, row_of
from skillopt.store.filesystem import filesystem_of, is_shared
from skillopt.store.flights import Flights
from skillopt.store.remote import RemoteAnswers, RemoteReader
from skillopt.store.writer import BackgroundWriter

__all__ = ["Entry", "Journal", "LedgerRow", "Recorded"]

_CHECKPOINT_EVERY = 500
_SHARED_READ_BUSY_S = 0.05


class Journal:
    """One run's journal. Use `open`; asyncio callers use `once`, the rest is synchronous and may be called anywhere."""

    def __init__(
        self,
        database: Database,
        *,
        shared: Path | RemoteAnswers | None,
        share_back: bool,
        replay: bool,
        on_shared_problem: Callable[[str], None] | None,
    ) -> None:
        self._database, self._replay = database, replay
        self._on_shared_problem = on_shared_problem
        self._flights = Flights()
        # Serialises use of the connection; held for one statement, never across an await.
        self._lock = threading.Lock()
        self._commits = 0
        self.known = database.last()
        """The last entry that stood here when this process began."""
        self._closed = False
        # What a replay wants to write stays in memory.
        self._overlay: dict[str, Row] = {}
        self._overlay_meta: dict[str, Any] = {}
        remote = None if shared is None or isinstance(shared, Path) else shared
        shared = shared if isinstance(shared, Path) else None
        filesystem = filesystem_of(shared) if shared is not None and share_back else ""
        refused = is_shared(filesystem)
        shared = None if refused else shared
        self._background = BackgroundWriter(database.path, (shared or remote) if share_back and not replay else None)
        if refused:
            self._background.report(
                f"the shared journal is not used: {filesystem} cannot hold one; "
                "set model.shared_cache to a local path or a postgresql:// URL"
            )
            self._tell_problem()
        self._remote = None if remote is None or replay else RemoteReader(remote, self._lost)
        self._shared = None if shared is None or replay else self._open_shared(shared, read_only=not share_back)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        shared: Path | RemoteAnswers | None = None,
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
            flight = self._flights.find(key)
            if flight is not None and flight.closing:
                # A cancelled run may still deliver; waiting for its end keeps the call from being paid twice.
                await asyncio.wait({flight.task})
                continue
            first = flight is None
            if flight is None:
                flight = self._flights.start(key, self._run(key, thunk))
            entry = await flight.join()
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
        return self._store(row_of(key, recorded))

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
        await self._flights.end()
        self.close()

    def close(self) -> None:
        """Finish the background work and close the files. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._remote is not None:
            self._remote.close()
        self._background.close()
        self._tell_problem()
        with self._lock:
            if self._shared is not None:
                self._shared.close()
            self._database.close()

    async def _run(self, key: str, thunk: Callable[[], Awaitable[Recorded]]) -> Entry:
        if self._remote is not None:
            row = await self._remote.find(key)
            if row is not None:
                return self._store(copied(row))
        recorded = await thunk()
        return replace(self.put_now(key, recorded), fresh=True)

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
            if (self._shared is not None or self._remote is not None) and may_be_shared(row):
                self._background.share(row)
        self._tell_problem()
        return self._entry(stored)

    def _entry(self, row: Row) -> Entry:
        return entry_of(row, self._database.path)

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
        return self._store(copied(row))

    def _lost(self, why: str) -> None:
        self._background.report(why)
        self._tell_problem()

    def _tell_problem(self) -> None:
        problem = self._background.take_problem()
        if problem and self._on_shared_problem is not None:
            self._on_shared_problem(problem)
