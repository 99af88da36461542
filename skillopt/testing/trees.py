"""Comparing run directories byte for byte, and reading what a journal holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

from skillopt.records.directory import JOURNAL, LOGS, VOLATILE


def tree(root: Path, *, without: Collection[str] = ()) -> dict[str, bytes]:
    """Every file of a run by relative path, apart from what a clock or an interruption may change: names at the root,
    and the logs of each skill where an evaluation measured several."""
    left_out = {*VOLATILE, *without}
    names = {path.relative_to(root): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in names.items()
        if name.parts[0] not in left_out and name.parts[1:2] != (LOGS,)
    }


def differences(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    """Paths that are in one tree only or differ."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def journal_keys(root: Path) -> set[str]:
    """Keys of the answers a run directory holds; empty when there is no journal yet."""
    path = root / JOURNAL
    if not path.exists():
        return set()
    connection = sqlite3.connect(path, timeout=10)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchone():
            return set()
        return {key for (key,) in connection.execute("SELECT key FROM entries WHERE calls > 0")}
    finally:
        connection.close()


def asked_key(headers: Mapping[str, str]) -> str:
    """The journal key a request was sent for."""
    return headers.get("idempotency-key", "").split("-", 1)[0]
