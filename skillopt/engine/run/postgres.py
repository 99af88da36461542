"""Shared answers in PostgreSQL (extra `postgres`): one table, for runs on many machines.

The table is made by whoever comes first. Rows are those of the journal; a key keeps its first value. The address may
hold a password: it is shown nowhere, messages name host and database.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from socket import SHUT_RDWR, socket
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from skillopt.core.errors import ConfigError, JournalError
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten
from skillopt.store.database import COLUMNS, Row
from skillopt.store.remote import CONNECT_S

if TYPE_CHECKING:
    import psycopg

SCHEMES = ("postgresql://", "postgres://")
_STATEMENT_MS = 10_000
_TABLE = """CREATE TABLE IF NOT EXISTS skillopt_entries (
    key text PRIMARY KEY, value bytea NOT NULL, encoding smallint NOT NULL, kind text NOT NULL, stage text NOT NULL,
    role text NOT NULL, model text NOT NULL, calls integer NOT NULL, prompt_tokens bigint, completion_tokens bigint,
    cached_tokens bigint, reasoning_tokens bigint, usd double precision, elapsed_s double precision,
    created_at double precision NOT NULL, shared smallint NOT NULL
)"""
_INSERT = f"INSERT INTO skillopt_entries ({COLUMNS}) VALUES ({', '.join(['%s'] * 16)}) ON CONFLICT (key) DO NOTHING"
_FIND = f"SELECT 0, {COLUMNS} FROM skillopt_entries WHERE key = ANY(%s)"


def is_postgres(address: str) -> bool:
    """Whether `model.shared_cache` names a server rather than a file."""
    return address.startswith(SCHEMES)


@dataclass(frozen=True)
class Postgres:
    """A `RemoteAnswers`. Raises `ConfigError` where the extra is not installed or the address is none."""

    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if not parts.path.strip("/"):
            raise ConfigError(f"model.shared_cache: {self.name} names no database", hint="postgresql://host/database")
        if find_spec("psycopg") is None:
            raise ConfigError(
                "model.shared_cache: postgresql:// needs the package psycopg", hint="pip install 'skillopt[postgres]'"
            )

    @property
    def name(self) -> str:
        """Host and database."""
        parts = urlsplit(self.url)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password, as it is written and as it is meant."""
        password = urlsplit(self.url).password
        return (password, unquote(password)) if password else ()

    def connect(self) -> PostgresAnswers:
        """Raises `JournalError`."""
        return PostgresAnswers(self)


class PostgresAnswers:
    """An `Answers` over one connection."""

    def __init__(self, where: Postgres) -> None:
        import psycopg

        self._where = where
        with self._typed():
            self._connection: psycopg.Connection = psycopg.connect(
                where.url,
                autocommit=True,
                connect_timeout=max(2, round(CONNECT_S)),
                options=f"-c statement_timeout={_STATEMENT_MS}",
            )
        with self._typed():
            try:
                self._connection.execute(_TABLE)
            except psycopg.errors.UniqueViolation:
                pass  # somebody else has made it in the same moment
            except psycopg.errors.InsufficientPrivilege:
                pass  # it may be there all the same; if not, the first question says so

    def find_many(self, keys: Sequence[str]) -> Mapping[str, Row]:
        """Those of the keys that are known."""
        with self._typed():
            return {row[1]: row for row in self._connection.execute(_FIND.encode(), (list(keys),)).fetchall()}

    def insert_many(self, rows: list[Row]) -> None:
        """In one transaction."""
        with self._typed(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(_INSERT.encode(), rows)

    def close(self) -> None:
        """Idempotent."""
        with self._typed():
            self._connection.close()

    def abandon(self) -> None:
        """Shut the socket: a server or a proxy may hold a connection open and say nothing for ever."""
        import psycopg

        with suppress(OSError, psycopg.Error), socket(fileno=os.dup(self._connection.fileno())) as held:
            held.shutdown(SHUT_RDWR)

    @contextmanager
    def _typed(self) -> Generator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as fault:
            words = shorten(redact(str(fault) or type(fault).__name__, self._where.secrets), 300)
            raise JournalError(f"shared answers at {self._where.name}: {words}", hint="check the server") from None
