"""The journal's schema, as numbered migrations. `PRAGMA user_version` counts those that were applied.

A migration that was released is never changed; a new one is added at the end. A file with a higher number than this
program knows is refused, and so is an SQLite file that carries another application's id.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from skillopt.core.errors import JournalError

APPLICATION_ID = 0x534B4F4C

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # A rowid table: values are long, and rows too long for a page make a WITHOUT ROWID tree slow to search.
        """CREATE TABLE entries (
            seq INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            value BLOB NOT NULL,
            encoding INTEGER NOT NULL,
            kind TEXT NOT NULL,
            stage TEXT NOT NULL,
            role TEXT NOT NULL,
            model TEXT NOT NULL,
            calls INTEGER NOT NULL,
            prompt_tokens INTEGER,
            completion_tokens INTEGER,
            cached_tokens INTEGER,
            reasoning_tokens INTEGER,
            usd REAL,
            elapsed_s REAL,
            created_at REAL NOT NULL,
            shared INTEGER NOT NULL DEFAULT 0
        )""",
        "CREATE UNIQUE INDEX entries_by_key ON entries (key)",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    ),
)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Number of applied migrations. Raises `JournalError` for a foreign file or one of a newer program."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (application or version or tables):
        raise JournalError(f"{path} is not a SkillOpt journal", hint="choose another out_root or move that file away")
    if version > len(MIGRATIONS):
        raise JournalError(
            f"{path} has schema {version}, this program knows up to {len(MIGRATIONS)}",
            hint="update skillopt, or choose another out_root",
        )
    return version


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest schema, in one transaction. Safe when two processes start at the same time."""
    if version_of(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
