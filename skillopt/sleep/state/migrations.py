"""The schema of `digests.sqlite`, as numbered migrations. `PRAGMA user_version` counts those that were applied.

A released migration is never changed; a new one is added at the end. A file of a newer program is refused.
"""

from __future__ import annotations

APPLICATION_ID = 0x534B534C

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE files (
            source TEXT NOT NULL,
            path TEXT NOT NULL,
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            PRIMARY KEY (source, path)
        ) WITHOUT ROWID""",
        """CREATE TABLE sessions (
            source TEXT NOT NULL,
            session_id TEXT NOT NULL,
            origin TEXT NOT NULL,
            started_at REAL NOT NULL,
            ended_at REAL NOT NULL,
            raw_path TEXT NOT NULL,
            body BLOB NOT NULL,
            runs BLOB NOT NULL,
            PRIMARY KEY (source, session_id)
        )""",
        "CREATE INDEX sessions_by_end ON sessions (ended_at)",
        """CREATE TABLE clusters (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL DEFAULT '',
            tokens TEXT NOT NULL,
            created_at REAL NOT NULL
        )""",
        """CREATE TABLE members (
            session TEXT NOT NULL,
            request INTEGER NOT NULL,
            cluster_id TEXT NOT NULL,
            PRIMARY KEY (session, request)
        )""",
        "CREATE INDEX members_by_cluster ON members (cluster_id)",
        """CREATE TABLE tasks (
            id TEXT PRIMARY KEY,
            cluster_id TEXT NOT NULL,
            split TEXT NOT NULL,
            created_at REAL NOT NULL,
            body TEXT NOT NULL DEFAULT ''
        )""",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    ),
)
"""`members.session` is `SessionDigest.key`; `tasks.body` is a record as JSON, blank where only the split is known."""
