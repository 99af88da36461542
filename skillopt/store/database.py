"""One journal file as a table: open, look up, insert, sum. Knows SQL and nothing of asyncio.

WAL with `synchronous=NORMAL`: a committed row is in the operating system's hands, so it survives kill -9 of the process
always. Trade-off accepted: a power cut may take the last rows (never the file's integrity); those calls are made again.
Checkpoints, the only slow part, belong to `store.writer`.

On a network or user-space file system WAL is not safe: there a rollback journal (TRUNCATE) and an exclusive lock, held
until `close`. A commit then waits for the disk, and nobody else reads the file while a run writes.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from skillopt.core.errors import JournalError
from skillopt.store.filesystem import filesystem_of, is_shared
from skillopt.store.migrations import migrate, transaction, version_of

_COMPRESS_FROM = 1_000
"""Bytes. Below it compression costs more time than the page it saves."""
_BACKSTOP_PAGES = 16_000
"""A commit checkpoints by itself only when the background has fallen 64 MB behind."""

COLUMNS = (
    "key, value, encoding, kind, stage, role, model, calls, prompt_tokens, completion_tokens, cached_tokens, "
    "reasoning_tokens, usd, elapsed_s, created_at, shared"
)
Row = tuple[Any, ...]
_INSERT = f"INSERT INTO entries ({COLUMNS}) VALUES ({', '.join('?' * 16)}) ON CONFLICT (key) DO NOTHING"
_LEDGER = """
    SELECT role, model, stage, count(*), sum(calls),
        sum(coalesce(prompt_tokens, 0)), sum(coalesce(completion_tokens, 0)),
        sum(coalesce(cached_tokens, 0)), sum(coalesce(reasoning_tokens, 0)),
        sum(CASE WHEN prompt_tokens IS NULL OR completion_tokens IS NULL THEN calls ELSE 0 END),
        total(usd), sum(CASE WHEN usd IS NULL THEN calls ELSE 0 END),
        total(elapsed_s), sum(shared)
    FROM entries WHERE calls > 0 OR shared GROUP BY role, model, stage ORDER BY role, model, stage
"""
"""Of a file of the first schema, which can be read only."""
_KEPT_LEDGER = """
    SELECT role, model, stage, sum(entries), sum(calls), sum(prompt_tokens), sum(completion_tokens),
        sum(cached_tokens), sum(reasoning_tokens), sum(unknown_usage), total(usd), sum(unknown_usd),
        total(elapsed_s), sum(shared)
    FROM ledger WHERE counted GROUP BY role, model, stage ORDER BY role, model, stage
"""


@dataclass(frozen=True)
class LedgerRow:
    """What the calls of one role, model and stage used. Sums are over known numbers; `unknown_*` count the others."""

    role: str
    model: str
    stage: str
    entries: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    unknown_usage: int
    usd: float
    unknown_usd: int
    elapsed_s: float
    shared: int
    """Answers taken from the shared journal: no call of this run."""


def encode(value: object) -> tuple[bytes, int]:
    """JSON bytes of `value` and their encoding: 0 plain, 1 zlib. Raises `ValueError` or `TypeError` for non-JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "surrogatepass"
    )
    if len(data) >= _COMPRESS_FROM:
        packed = zlib.compress(data, 1)
        if len(packed) < 0.9 * len(data):
            return packed, 1
    return data, 0


def decode(data: bytes, encoding: int) -> Any:
    """The value that `encode` was given, as JSON sees it."""
    plain = zlib.decompress(data) if encoding else data
    return json.loads(plain.decode("utf-8", "surrogatepass"))


@contextlib.contextmanager
def typed_errors(path: Path) -> Generator[None]:
    """SQLite's errors as `JournalError`: what, where, what to do."""
    try:
        yield
    except (sqlite3.Error, zlib.error) as fault:
        words = str(fault)
        if "full" in words:
            hint = "free some disk space and run the same command again; finished calls are kept"
        elif "not a database" in words or "malformed" in words or "encrypted" in words or isinstance(fault, zlib.error):
            hint = "the file is damaged or foreign: move it away (its calls will be made again) or restore a copy"
        elif "readonly" in words or "unable to open" in words:
            hint = "check that the directory exists and can be written, or choose another out_root"
        elif "locked" in words:
            hint = "another program holds the file; close it and run the same command again"
        else:
            hint = "check the disk, then run the same command again"
        raise JournalError(f"journal {path}: {words}", hint=hint) from fault


class Database:
    """An open journal file. Callers serialise access; every method raises `JournalError`."""

    def __init__(self, path: Path, *, read_only: bool = False, busy_timeout_s: float = 5.0) -> None:
        self.path = path
        self.wal = not is_shared(filesystem_of(path))
        """Whether commits go to a write-ahead log, which wants checkpoints."""
        with typed_errors(path):
            if read_only:
                self._connection = _open_read_only(path, busy_timeout_s)
            else:
                self._connection = _open_writable(path, busy_timeout_s, wal=self.wal)

    def find(self, key: str) -> Row | None:
        """`(seq, *COLUMNS)` of one key."""
        with typed_errors(self.path):
            return self._connection.execute(f"SELECT seq, {COLUMNS} FROM entries WHERE key = ?", (key,)).fetchone()

    def insert(self, row: Row) -> int | None:
        """Commit one row; its seq, or None when the key was there (the first value stays)."""
        with typed_errors(self.path):
            cursor = self._connection.execute(_INSERT, row)
            return cursor.lastrowid if cursor.rowcount else None

    def insert_many(self, rows: list[Row]) -> None:
        """Commit several rows at once."""
        with typed_errors(self.path), transaction(self._connection):
            self._connection.executemany(_INSERT, rows)

    def page(self, after: int, kind: str | None, limit: int = 256) -> list[Row]:
        """The next rows in the order they were written."""
        condition, values = ("AND kind = ?", (kind,)) if kind is not None else ("", ())
        query = f"SELECT seq, {COLUMNS} FROM entries WHERE seq > ? {condition} ORDER BY seq LIMIT {limit}"
        with typed_errors(self.path):
            return self._connection.execute(query, (after, *values)).fetchall()

    def last(self) -> int:
        """The seq of the last row; 0 for none."""
        with typed_errors(self.path):
            return self._connection.execute("SELECT coalesce(max(seq), 0) FROM entries").fetchone()[0]

    def count(self, kind: str | None) -> int:
        """Number of entries, of one kind or all."""
        condition, values = ("WHERE kind = ?", (kind,)) if kind is not None else ("", ())
        with typed_errors(self.path):
            kept = version_of(self._connection, self.path) > 1
            what = "coalesce(sum(entries), 0) FROM ledger" if kept else "count(*) FROM entries"
            return self._connection.execute(f"SELECT {what} {condition}", values).fetchone()[0]

    def ledger(self) -> list[LedgerRow]:
        """Sums by role, model and stage."""
        with typed_errors(self.path):
            query = _KEPT_LEDGER if version_of(self._connection, self.path) > 1 else _LEDGER
            return [LedgerRow(*row) for row in self._connection.execute(query)]

    def get_meta(self, name: str) -> Any:
        """A value of `meta`, or None."""
        with typed_errors(self.path):
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def set_meta(self, name: str, value: object) -> None:
        """Commit a value of `meta`, replacing an older one."""
        text = json.dumps(value, allow_nan=False)
        with typed_errors(self.path):
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def checkpoint(self) -> None:
        """Move what the WAL holds into the file, as far as no reader or writer is in the way."""
        with typed_errors(self.path):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Close the file. Idempotent."""
        with typed_errors(self.path):
            self._connection.close()


def _open_writable(path: Path, busy_timeout_s: float, *, wal: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
    try:
        if not wal:  # before the first access: a file left in WAL mode is then read without shared memory
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        version_of(connection, path)  # a foreign file is refused before anything in it is changed
        if wal:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_BACKSTOP_PAGES}").fetchall()
        else:
            connection.execute("PRAGMA journal_mode = TRUNCATE").fetchall()
            connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_read_only(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """Read-only; on read-only media, where WAL's side files cannot be made, as an immutable file."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}", hint="a replay needs the directory of a recorded run")
    for flags in ("mode=ro", "mode=ro&immutable=1"):
        uri = f"file:{quote(str(path.resolve()))}?{flags}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            if not version_of(connection, path):
                raise JournalError(f"{path} is empty", hint="a replay needs the directory of a recorded run")
        except sqlite3.OperationalError:
            connection.close()
            if "immutable" in flags:
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise JournalError(f"journal {path} cannot be opened", hint="check its permissions")
