"""What a reader is given and what it hands back.

A broken line costs itself, a broken session costs itself, and both are counted: a format that drifted shows as
numbers, not as silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from skillopt.sleep.digest import SessionDigest

Skip = Literal["", "other_project", "no_project", "not_understood", "bad_time", "empty", "unreadable"]
"""Why a file gave no digest: another project's, no working directory, no known record, a time without offset, nothing
in it yet, not to be opened."""


@dataclass(frozen=True)
class SessionFile:
    """A file as it was found; who finds all of it equal later need not open it."""

    source: str
    path: Path
    inode: int
    size: int
    mtime_ns: int


@dataclass
class Counts:
    """What a reader met beside what it understood."""

    bad_lines: int = 0
    half_lines: int = 0
    broken_chains: int = 0
    bad_sessions: int = 0
    record_types: Counter[str] = field(default_factory=Counter[str])
    """Every type met, understood or not."""
    unknown_types: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: Counts) -> None:
        """Take in another file's counts."""
        self.bad_lines += other.bad_lines
        self.half_lines += other.half_lines
        self.broken_chains += other.broken_chains
        self.bad_sessions += other.bad_sessions
        self.record_types.update(other.record_types)
        self.unknown_types.update(other.unknown_types)


@dataclass(frozen=True)
class Reading:
    """What one file gave. Without digests, `skip` says why."""

    digests: tuple[SessionDigest, ...] = ()
    skip: Skip = ""
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True)
class Wanted:
    """What is looked for: which directories belong to the project, and openings that only programs type."""

    in_project: Callable[[str], bool]
    markers: tuple[str, ...] = ()


class Source(Protocol):
    """One agent's session files. A new source is one module and one line in `ingest`."""

    @property
    def name(self) -> str:
        """As `--source` says it."""
        ...

    def places(self) -> tuple[Path, ...]:
        """Where it looks, for the message when nothing was understood."""
        ...

    def files(self) -> Iterator[SessionFile]:
        """Every session file there is, unopened."""
        ...

    def read(self, file: SessionFile, wanted: Wanted) -> Reading:
        """The digests of one file, unredacted."""
        ...
