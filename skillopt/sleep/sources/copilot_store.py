"""Copilot CLI's `session-store.db`: the sessions that have no event file.

It lags: while a session is open its last turn is missing. Times are ISO, or `YYYY-MM-DD HH:MM:SS` in UTC.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from skillopt.sleep.digest import SessionDigest
from skillopt.sleep.sources.building import SessionBuilder
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Wanted
from skillopt.sleep.sources.sqlite_files import columns, database_file, reading
from skillopt.sleep.sources.times import BadTime, epoch

STORE = "session-store.db"
_NEEDED = {
    "sessions": frozenset(("id", "cwd", "branch", "created_at", "updated_at")),
    "turns": frozenset(("session_id", "turn_index", "user_message", "assistant_response", "timestamp")),
    "session_files": frozenset(("session_id", "file_path", "tool_name", "turn_index")),
}


def store_file(source: str, path: Path) -> SessionFile | None:
    """The database as a session file."""
    return database_file(source, path)


def read_store(file: SessionFile, wanted: Wanted, *, has_events: Callable[[str], bool]) -> Reading:
    """Digests of the project's sessions that have no event file."""
    counts, digests = Counts(), list[SessionDigest]()
    try:
        with reading(file.path) as connection:
            if any(not needed <= columns(connection, table) for table, needed in _NEEDED.items()):
                return Reading(skip="not_understood", counts=counts)
            rows = connection.execute("SELECT id, cwd, branch, created_at, updated_at FROM sessions ORDER BY id")
            for session_id, cwd, branch, created, updated in rows.fetchall():
                counts.record_types["session"] += 1
                directory = str(cwd or "")
                if not directory or not wanted.in_project(directory) or has_events(str(session_id)):
                    continue
                builder = SessionBuilder(file.source, wanted.markers, str(session_id), directory, str(branch or ""))
                try:
                    _fill(builder, connection, (str(created or ""), str(updated or "")))
                except BadTime:
                    counts.bad_sessions += 1
                    continue
                digest = builder.digest(file)
                if digest is not None:
                    digests.append(digest)
    except (sqlite3.Error, OSError):
        return Reading(skip="unreadable", counts=counts)
    return Reading(tuple(digests), skip="" if digests else "empty", counts=counts)


def _fill(builder: SessionBuilder, connection: sqlite3.Connection, times: tuple[str, str]) -> None:
    for moment in times:
        builder.seen(epoch(moment, utc=True) if moment else None)
    files: dict[int, list[tuple[str, str]]] = {}
    query = "SELECT turn_index, file_path, tool_name FROM session_files WHERE session_id = ? ORDER BY rowid"
    for index, path, tool in connection.execute(query, (builder.session_id,)):
        files.setdefault(index if isinstance(index, int) else 0, []).append((str(path or ""), str(tool or "")))
    query = (
        "SELECT turn_index, user_message, assistant_response, timestamp FROM turns WHERE session_id = ? "
        "ORDER BY turn_index"
    )
    for index, prompt, answer, moment in connection.execute(query, (builder.session_id,)):
        at = epoch(str(moment), utc=True) if moment else None
        builder.seen(at)
        builder.prompt(str(prompt or ""), at)
        builder.answer(str(answer or ""), at)
        for path, tool in files.pop(index if isinstance(index, int) else 0, []):
            builder.file(path)
            builder.tool(tool)
