"""OpenCode: one SQLite database with `session`, `message` and `part`, read in one transaction and never written to.

Root sessions with an absolute directory only. `opencode run` forbids its model to ask questions, and that marks a
headless session; who was at the keyboard of the others the record does not say: `unknown`. Data that does not parse
costs its session, and is counted. The JSON tree of versions before 1.2 is not read.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import JsonObject, as_array, as_object, parse_json
from skillopt.harnesses.records import mapping, text
from skillopt.sleep.digest import SessionDigest
from skillopt.sleep.sources.building import SessionBuilder
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Wanted
from skillopt.sleep.sources.sqlite_files import columns, database_file, reading

_ROOTS = "SELECT id, directory, time_created, time_updated, permission FROM session WHERE parent_id IS NULL ORDER BY id"
_NEEDED = {
    "session": frozenset(("id", "parent_id", "directory", "time_created", "time_updated", "permission")),
    "message": frozenset(("id", "session_id", "time_created", "data")),
    "part": frozenset(("id", "message_id", "session_id", "data")),
}


@dataclass(frozen=True)
class OpenCode:
    """Sessions of OpenCode in one database; no path means there is none."""

    database: Path | None
    name: str = "opencode"

    def places(self) -> tuple[Path, ...]:
        """Where it looks."""
        return (self.database,) if self.database else ()

    def files(self) -> Iterator[SessionFile]:
        """The database, if it is there."""
        file = database_file(self.name, self.database) if self.database else None
        if file is not None:
            yield file

    def read(self, file: SessionFile, wanted: Wanted) -> Reading:
        """Digests of the project's sessions."""
        counts, digests = Counts(), list[SessionDigest]()
        try:
            with reading(file.path) as connection:
                if any(not needed <= columns(connection, table) for table, needed in _NEEDED.items()):
                    return Reading(skip="not_understood", counts=counts)
                query = (
                    "SELECT id, directory, time_created, time_updated, permission FROM session WHERE parent_id IS NULL"
                )
                for session_id, directory, created, updated, rules in connection.execute(query).fetchall():
                    counts.record_types["session"] += 1
                    if not wanted.in_project(str(directory or "")):
                        continue
                    builder = SessionBuilder(self.name, wanted.markers, str(session_id), str(directory))
                    builder.origin = "headless" if _asks_nothing(rules) else "unknown"
                    builder.seen(_seconds(created))
                    builder.seen(_seconds(updated))
                    try:
                        _fill(builder, connection, counts)
                    except ValueError:
                        counts.bad_sessions += 1
                        continue
                    digest = builder.digest(file)
                    if digest is not None:
                        digests.append(digest)
        except (sqlite3.Error, OSError):
            return Reading(skip="unreadable", counts=counts)
        return Reading(tuple(digests), skip="" if digests else "empty", counts=counts)


def default_database(environ: Mapping[str, str], named: str = "") -> Path | None:
    """`--opencode-db`, else `OPENCODE_DB` (a relative one lies in the data directory), else where OpenCode puts it."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if sys.platform == "win32":
        data = Path(environ.get("LOCALAPPDATA") or environ.get("APPDATA") or home)
    said = named or environ.get("OPENCODE_DB", "")
    if said == ":memory:":
        return None
    return data / "opencode" / (said or "opencode.db")


def _fill(builder: SessionBuilder, connection: sqlite3.Connection, counts: Counts) -> None:
    """Messages by time, their parts by id. Raises `ValueError` for data that is no JSON object."""
    parts: dict[str, list[JsonObject]] = {}
    query = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for message_id, data in connection.execute(query, (builder.session_id,)):
        parts.setdefault(str(message_id), []).append(_object(data))
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message_id, created, data in connection.execute(query, (builder.session_id,)):
        message, at = _object(data), _seconds(created)
        role = text(message, "role")
        counts.record_types[role] += 1
        builder.seen(at)
        said = parts.get(str(message_id), [])
        words = "\n".join(text(part, "text") for part in said if _is_text(part))
        if role == "user":
            builder.prompt(words, at)
            continue
        if not message.get("error"):
            builder.answer(words, at)
        elif text(mapping(message, "error"), "name") == "MessageAbortedError":
            builder.interrupted()
        for part in said:
            _tool(builder, part)


def _tool(builder: SessionBuilder, part: JsonObject) -> None:
    name = text(mapping(part, "toolInvocation"), "toolName") or text(part, "tool")
    if text(part, "type") not in ("tool", "tool-invocation") or not name:
        return
    builder.tool(name)
    state = mapping(part, "state")
    given = mapping(state, "input")
    if name == "skill" and text(state, "status") != "error":
        builder.skill(text(given, "name"))
    if name in ("edit", "write"):
        builder.file(text(given, "filePath"))
    builder.tool_output(text(state, "output"))


def _asks_nothing(rules: object) -> bool:
    """Whether the session's permissions deny questions to the person."""
    if not isinstance(rules, str):
        return False
    try:
        entries = as_array(parse_json(rules))
    except ValueError:
        return False
    denied = [as_object(entry) for entry in entries]
    return any(rule.get("permission") == "question" and rule.get("action") == "deny" for rule in denied)


def _is_text(part: JsonObject) -> bool:
    return text(part, "type") == "text" and not part.get("synthetic") and not part.get("ignored")


def _object(data: object) -> JsonObject:
    value = parse_json(data if isinstance(data, (str, bytes)) else "")
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return as_object(value)


def _seconds(milliseconds: object) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None
