"""The journal's schema, as numbered migrations. `PRAGMA user_version` counts those that were applied.

A migration that was released is never changed; a new one is added at the end. A file with a higher number than this
program knows is refused, and so is an SQLite file that carries another application's id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skillopt.core.errors import JournalError

APPLICATION_ID = 0x534B4F4C

_GROUP = "kind, role, model, stage, (calls > 0 OR shared > 0)"
_SUMS = """sum(calls), sum(coalesce(prompt_tokens, 0)), sum(coalesce(completion_tokens, 0)),
    sum(coalesce(cached_tokens, 0)), sum(coalesce(reasoning_tokens, 0)),
    sum(CASE WHEN prompt_tokens IS NULL OR completion_tokens IS NULL THEN calls ELSE 0 END),
    total(usd), sum(CASE WHEN usd IS NULL THEN calls ELSE 0 END), total(elapsed_s), sum(shared)"""
_LABELS = ("kind", "role", "model", "stage")
_AMOUNTS = (
    "calls", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "usd", "elapsed_s", "shared",
)  # fmt: skip
_NEW = ", ".join(f"new.{name} AS {name}" for name in (*_LABELS, *_AMOUNTS))
_ADDED = ", ".join(
    f"{name} = {name} + excluded.{name}" for name in ("entries", "unknown_usage", "unknown_usd", *_AMOUNTS)
)

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
    (
        # The ledger is kept as rows are written, in the same commit: summing ten million rows takes a minute. Rows of
        # the journal are never changed or removed, so nothing else has to be followed.
        """CREATE TABLE ledger (
            kind TEXT NOT NULL,
            role TEXT NOT NULL,
            model TEXT NOT NULL,
            stage TEXT NOT NULL,
            counted INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            calls INTEGER NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            reasoning_tokens INTEGER NOT NULL,
            unknown_usage INTEGER NOT NULL,
            usd REAL NOT NULL,
            unknown_usd INTEGER NOT NULL,
            elapsed_s REAL NOT NULL,
            shared INTEGER NOT NULL,
            PRIMARY KEY (kind, role, model, stage, counted)
        ) WITHOUT ROWID""",
        f"INSERT INTO ledger SELECT {_GROUP}, count(*), {_SUMS} FROM entries GROUP BY {_GROUP}",
        f"""CREATE TRIGGER entries_into_ledger AFTER INSERT ON entries BEGIN
            INSERT INTO ledger SELECT {_GROUP}, 1, {_SUMS} FROM (SELECT {_NEW})
            WHERE true ON CONFLICT (kind, role, model, stage, counted) DO UPDATE SET {_ADDED};
        END""",
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
    with transaction(connection):
        for number in range(version_of(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All or nothing. A full disk has ended the transaction already: what is raised is that, not what undoing says."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
