"""Other programs' SQLite files: opened read-only, in one transaction, and never written to.

A file that cannot be opened so (its write-ahead log needs a shared-memory file that is not there) is copied with its
side files into a private directory first. The newer of file and log is what tells that it changed.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

from skillopt.sleep.sources.lines import found
from skillopt.sleep.sources.reading import SessionFile

_SIDE = ("", "-wal", "-shm")


def database_file(source: str, path: Path) -> SessionFile | None:
    """The database as a session file: its size and time are those of it and its log together."""
    main = found(source, path)
    if main is None:
        return None
    log = found(source, path.with_name(path.name + "-wal"))
    if log is None:
        return main
    return SessionFile(source, path, main.inode, main.size + log.size, max(main.mtime_ns, log.mtime_ns))


@contextlib.contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection]:
    """A read transaction on the database. Raises `sqlite3.Error`, `OSError`."""
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(contextlib.closing(_open(path)))
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            private = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skillopt-sleep-")))
            for side in _SIDE:
                beside = path.with_name(path.name + side)
                if beside.is_file() and not beside.is_symlink():
                    shutil.copyfile(beside, private / ("copy.db" + side))
            connection = stack.enter_context(contextlib.closing(_open(private / "copy.db")))
        connection.execute("BEGIN")
        yield connection


def columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Names of a table's columns; none where there is no such table. `table` is a name of ours."""
    return frozenset(str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")'))


def _open(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)
    connection.execute("PRAGMA query_only = 1")
    return connection
