"""The digest store: redacted sessions and what is known of the files they came from.

Recurrence over months lives from here: the agents' programs delete their logs after some weeks. Whoever puts a digest
in has redacted it (`ingest`).
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import cast

from skillopt.core.json_types import JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.sleep.digest import ORIGINS, Origin, SessionDigest, Turn
from skillopt.sleep.sources.reading import SessionFile
from skillopt.sleep.state.database import StateDatabase

_ORIGINS: dict[str, Origin] = {name: name for name in ORIGINS}
FileFacts = tuple[int, int, int]
"""Inode, size, time: equal ones need not be opened."""


class DigestStore:
    """Sessions and file positions of one project."""

    def __init__(self, database: StateDatabase) -> None:
        self.database = database

    def known_files(self, source: str) -> dict[str, tuple[FileFacts, str]]:
        """By path: what a file looked like, and what came of reading it."""
        rows = self.database.rows("SELECT path, inode, size, mtime_ns, outcome FROM files WHERE source = ?", (source,))
        return {str(path): ((_int(inode), _int(size), _int(mtime)), str(out)) for path, inode, size, mtime, out in rows}

    def remember_file(self, file: SessionFile, outcome: str) -> None:
        """What came of reading a file."""
        self.database.run(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)",
            (file.source, str(file.path), *facts_of(file), outcome),
        )

    def forget_files(self) -> None:
        """Read every file anew next time."""
        self.database.run("DELETE FROM files")

    def put(self, digest: SessionDigest) -> None:
        """Keep a digest, in the place of an older one of its session."""
        self.database.run(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, session_id) DO UPDATE SET "
            "origin = excluded.origin, started_at = excluded.started_at, ended_at = excluded.ended_at, "
            "raw_path = excluded.raw_path, body = excluded.body, runs = excluded.runs "
            "WHERE excluded.ended_at >= sessions.ended_at OR excluded.raw_path = sessions.raw_path",
            (
                digest.source,
                digest.session_id,
                digest.origin,
                digest.started_at,
                digest.ended_at,
                digest.raw_path,
                zlib.compress(json.dumps(_body(digest), ensure_ascii=False).encode("utf-8", "surrogatepass"), 3),
                array("Q", sorted(digest.tool_runs)).tobytes(),
            ),
        )

    def sessions(self, *, runs: bool = False) -> Iterator[SessionDigest]:
        """All sessions, by end and key; with the hashes of their tools' output only if asked for."""
        query = (
            f"SELECT source, session_id, origin, started_at, ended_at, raw_path, body, {'runs' if runs else 'NULL'} "
            "FROM sessions ORDER BY ended_at, source, session_id"
        )
        for source, session_id, origin, started, ended, path, body, hashes in self.database.rows(query):
            known = _ORIGINS.get(str(origin), "unknown")
            times = (_float(started), _float(ended))
            yield _digest((str(source), str(session_id), known), times, str(path), body, hashes)

    def tool_runs(self) -> frozenset[int]:
        """Hashes of every run of eight words that tools put out, over all sessions: for the content screen."""
        found: set[int] = set()
        for (hashes,) in self.database.rows("SELECT runs FROM sessions"):
            found.update(_runs(hashes))
        return frozenset(found)

    def by_origin(self) -> dict[str, dict[str, int]]:
        """How many sessions of each source and origin."""
        counted: dict[str, dict[str, int]] = {}
        for source, origin, n in self.database.rows("SELECT source, origin, count(*) FROM sessions GROUP BY 1, 2"):
            counted.setdefault(str(source), {})[str(origin)] = _int(n)
        return counted

    def expire(self, before: float) -> int:
        """Remove digests of sessions that ended before; how many."""
        return self.database.run("DELETE FROM sessions WHERE ended_at < ?", (before,))


def facts_of(file: SessionFile) -> FileFacts:
    """What tells that a file did not change. Inodes beyond SQLite's integers are folded."""
    return file.inode & (1 << 62) - 1, file.size, file.mtime_ns


def _body(digest: SessionDigest) -> dict[str, object]:
    return {
        "project": digest.project,
        "git_branch": digest.git_branch,
        "git_commit": digest.git_commit,
        "raw_bytes": digest.raw_bytes,
        "turns": [
            [t.prompt, t.at, t.answer, t.answer_at, t.interrupted, list(t.tools), list(t.skills), list(t.files)]
            for t in digest.turns
        ],
    }


def _digest(
    key: tuple[str, str, Origin], times: tuple[float, float], path: str, packed: object, hashes: object
) -> SessionDigest:
    body = as_object(parse_json(zlib.decompress(cast("bytes", packed)).decode("utf-8", "surrogatepass")))
    turns = tuple(_turn(as_array(turn)) for turn in as_array(body.get("turns")))
    return SessionDigest(
        source=key[0],
        session_id=key[1],
        project=as_text(body.get("project")),
        git_branch=as_text(body.get("git_branch")),
        git_commit=as_text(body.get("git_commit")),
        started_at=times[0],
        ended_at=times[1],
        origin=key[2],
        turns=turns,
        tools_used=tuple(dict.fromkeys(name for turn in turns for name in turn.tools)),
        skills_used=tuple(dict.fromkeys(name for turn in turns for name in turn.skills)),
        files_touched=tuple(dict.fromkeys(name for turn in turns for name in turn.files)),
        raw_path=path,
        raw_bytes=int(as_number(body.get("raw_bytes")) or 0),
        tool_runs=frozenset(_runs(hashes)),
    )


def _turn(said: Sequence[JsonValue]) -> Turn:
    prompt, at, answer, answer_at, interrupted, *names = said
    tools, skills, files = (tuple(as_text(name) for name in as_array(group)) for group in names)
    return Turn(
        as_text(prompt), as_number(at), as_text(answer), as_number(answer_at), interrupted is True, tools, skills, files
    )


def _runs(hashes: object) -> array[int]:
    found = array("Q")
    if isinstance(hashes, bytes):
        found.frombytes(hashes[: len(hashes) // found.itemsize * found.itemsize])
    return found


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
