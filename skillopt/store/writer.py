"""The journal's background thread: checkpoints, and entries handed to the shared journal.

Nothing a run depends on waits for it: local rows are committed before they come here. A shared journal that is locked,
damaged or full costs the shared copy only; the first such problem is kept for `take_problem`, the rest are dropped.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from pathlib import Path
from typing import TypeAlias, cast

from skillopt.core.errors import JournalError
from skillopt.store.database import Database, Row
from skillopt.store.remote import Answers, RemoteAnswers

_Shared: TypeAlias = "Database | Answers"

_SHARED_BUSY_S = 10.0
LAST_S = 10.0
"""Seconds that a run's end waits for a server to take the last answers."""


class BackgroundWriter:
    """One daemon thread, started by its first job, ended by `close`."""

    def __init__(self, local: Path, shared: Path | RemoteAnswers | None) -> None:
        self._local_path, self._shared_place = local, shared
        self._given_up = False
        self._server: Answers | None = None
        self._jobs: queue.SimpleQueue[Row | str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._problem: str = ""
        self._reported = False

    def checkpoint(self) -> None:
        """Ask for a checkpoint of the local journal."""
        self._put("checkpoint")

    def share(self, row: Row) -> None:
        """Hand one entry to the shared journal."""
        if self._shared_place is not None and not self._given_up:
            self._put(row)

    def take_problem(self) -> str:
        """The first problem of the shared journal, once; empty otherwise."""
        if not self._problem or self._reported:
            return ""
        self._reported = True
        return self._problem

    def report(self, problem: str) -> None:
        """Keep the first problem; also called for reads of the shared journal."""
        self._problem = self._problem or problem

    def close(self) -> None:
        """Finish the jobs that are waiting and end the thread. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put("stop")
            thread.join(None if isinstance(self._shared_place, Path) else LAST_S)
            if thread.is_alive() and self._server is not None:
                self._server.abandon()
                self.report(f"the last answers were not shared: the server took none for {LAST_S:g} s")
                thread.join(LAST_S)

    def _put(self, job: Row | str) -> None:
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="skillopt-journal", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        local: Database | None = None
        shared: _Shared | None = None
        try:
            while True:
                batch = [self._jobs.get()]
                while batch[-1] != "stop" and not self._jobs.empty():
                    batch.append(self._jobs.get())
                rows = [job for job in batch if not isinstance(job, str)]
                if rows:
                    shared = self._share(shared, rows)
                if "checkpoint" in batch:
                    local = self._checkpoint(local)
                if batch[-1] == "stop":
                    return
        finally:
            for database in (local, shared):
                if database is not None:
                    with contextlib.suppress(JournalError):
                        database.close()

    def _share(self, shared: _Shared | None, rows: list[Row]) -> _Shared | None:
        place = self._shared_place
        if self._given_up or place is None:
            return shared
        try:
            if shared is None and isinstance(place, Path):
                shared = Database(place, busy_timeout_s=_SHARED_BUSY_S)
            elif shared is None:
                shared = self._server = cast("RemoteAnswers", place).connect()
            shared.insert_many(rows)
        except JournalError as fault:
            self._given_up = not isinstance(place, Path)  # a server that is away is not waited for at each answer
            self.report(f"answers are not shared any more: {fault}" if self._given_up else str(fault))
        return shared

    def _checkpoint(self, local: Database | None) -> Database | None:
        """Housekeeping: where it fails, the next commit that finds the WAL too long says so to the run."""
        try:
            local = local or Database(self._local_path)
            local.checkpoint()
        except JournalError:
            return local
        return local
