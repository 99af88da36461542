"""`digests.sqlite` opened: private, migrated, and refused where it is broken or newer than this program.

A damaged file is copied aside (`.broken-<time>`) and named in the error; nothing continues with an empty one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

from skillopt.sleep.errors import StateError
from skillopt.sleep.state.migrations import APPLICATION_ID, MIGRATIONS
from skillopt.sleep.state.private import FILE, make_directory
from skillopt.store.filesystem import filesystem_of, is_shared

Value = str | int | float | bytes | None
Row = tuple[Value, ...]


class StateDatabase:
    """One project's database. Use it as a context manager; every method raises `StateError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_directory(path.parent)
        with self._told():
            if not path.exists():
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE))
            self._connection = sqlite3.connect(path, timeout=10.0, isolation_level=None)
        try:
            with self._told():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> StateDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._connection.close()

    def rows(self, query: str, values: tuple[Value, ...] = ()) -> list[Row]:
        """All rows of a query."""
        with self._told():
            return self._connection.execute(query, values).fetchall()

    def run(self, statement: str, values: tuple[Value, ...] = ()) -> int:
        """One statement; how many rows it changed."""
        with self._told():
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing of what is written inside."""
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        with self._told():
            self._connection.execute("COMMIT")

    def meta(self, name: str) -> str:
        """A remembered value; blank for none."""
        rows = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def set_meta(self, name: str, value: str) -> None:
        """Remember a value."""
        self.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def _prepare(self) -> None:
        applied, application, tables = (
            int(self._connection.execute(query).fetchone()[0])
            for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        )
        if application != APPLICATION_ID and (application or applied or tables):
            raise StateError(f"{self.path} is not a SkillOpt-Sleep database", hint="move that file away")
        if applied > len(MIGRATIONS):
            raise StateError(
                f"{self.path} has schema {applied}, this program knows up to {len(MIGRATIONS)}", hint="update skillopt"
            )
        if not is_shared(filesystem_of(self.path)):
            self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
            self._connection.execute("PRAGMA synchronous = NORMAL")
        if applied < len(MIGRATIONS):
            self._migrate()

    def _migrate(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            applied = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
            for migration in MIGRATIONS[applied:]:
                for statement in migration:
                    self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as fault:
            words = str(fault)
            if "not a database" in words or "malformed" in words or "encrypted" in words:
                raise StateError(
                    f"{self.path} cannot be read ({words}); a copy is {self._set_aside()}",
                    hint="restore the file, or remove it to begin anew (lessons not yet adopted are then lost)",
                ) from fault
            raise StateError(f"{self.path}: {words}", hint="check the disk and its permissions") from fault
        except OSError as fault:
            raise StateError(f"cannot use {self.path}: {fault.strerror or fault}") from fault

    def _set_aside(self) -> str:
        copy = self.path.with_name(f"{self.path.name}.broken-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        with contextlib.suppress(OSError):
            shutil.copyfile(self.path, copy)
            copy.chmod(FILE)
        return copy.name
