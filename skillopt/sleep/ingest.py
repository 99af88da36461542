"""Sessions read in: every source's new and grown files become redacted digests in the store.

There is no checkpoint that could run ahead: what is read is decided per file (path, inode, size, time), and an
unchanged file is not opened. Files of other projects are opened once, to their first working directory. A source whose
files were all misunderstood is a loud warning: its format has drifted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.sleep.digest import SessionDigest, Turn
from skillopt.sleep.redact import clean, redact
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.sources.claude import Claude
from skillopt.sleep.sources.codex import Codex
from skillopt.sleep.sources.copilot_cli import CopilotCli
from skillopt.sleep.sources.opencode import OpenCode, default_database
from skillopt.sleep.sources.projects import ProjectMatcher
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Source, Wanted
from skillopt.sleep.state.digests import DigestStore, facts_of

READERS_VERSION = "1"
"""Raised when a reader understands more than before: every file is then read anew."""
MAX_TEXT = 20_000
"""Characters of a prompt or an answer in a digest."""
_MISUNDERSTOOD = frozenset(("not_understood", "unreadable"))
_BATCH = 200


@dataclass
class SourceReport:
    """What one source gave this time, and what its files are known to be."""

    name: str
    places: tuple[Path, ...] = ()
    files: int = 0
    unchanged: int = 0
    opened: int = 0
    too_old: int = 0
    digests: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    """Of every file that was ever read: `digest`, or why it gave none."""
    counts: Counts = field(default_factory=Counts)

    @property
    def warning(self) -> str:
        """What must be said loudly; blank for nothing."""
        met = {name: n for name, n in self.outcomes.items() if name != "empty"}
        if not met or met.keys() - _MISUNDERSTOOD:
            return ""
        types = ", ".join(sorted(self.counts.record_types)[:12]) or "none"
        return (
            f"{self.name}: 0 of {sum(met.values())} files understood in {', '.join(str(p) for p in self.places)} "
            f"(record types met: {types}); the format may have changed"
        )


@dataclass(frozen=True)
class IngestReport:
    """What came of reading all sources."""

    sources: tuple[SourceReport, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every loud warning."""
        return tuple(source.warning for source in self.sources if source.warning)

    @property
    def opened(self) -> int:
        """Files opened this time."""
        return sum(source.opened for source in self.sources)


def sources_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> tuple[Source, ...]:
    """The sources that the settings name; `auto` is all of them."""
    built: dict[str, Source] = {
        "claude": Claude(Path(settings.claude_home)),
        "codex": Codex(Path(settings.codex_home)),
        "copilot": CopilotCli(Path(settings.copilot_home)),
        "opencode": OpenCode(default_database(environ, settings.opencode_db)),
    }
    named = settings.transcript_source
    return tuple(source for name, source in built.items() if "auto" in named or name in named)


def ingest(
    store: DigestStore, sources: Sequence[Source], project: Path, settings: Settings, *, now: float
) -> IngestReport:
    """Read what is new. Raises `StateError` where the store cannot be written."""
    if store.database.meta("readers") != READERS_VERSION:
        store.forget_files()
        store.database.set_meta("readers", READERS_VERSION)
    wanted = Wanted(ProjectMatcher(project), settings.agent_markers)
    oldest = now - settings.ingest_days * 86_400
    return IngestReport(tuple(_from(source, store, wanted, oldest) for source in sources))


def _from(source: Source, store: DigestStore, wanted: Wanted, oldest: float) -> SourceReport:
    report = SourceReport(source.name, source.places())
    known = store.known_files(source.name)
    waiting: list[tuple[SessionFile, Reading]] = []
    for file in source.files():
        report.files += 1
        before = known.get(_path(file))
        if before is not None and before[0] == facts_of(file):
            report.unchanged += 1
            report.outcomes[before[1]] += 1
            continue
        if file.mtime_ns < oldest * 1e9:
            report.too_old += 1
            continue
        report.opened += 1
        reading = source.read(file, wanted)
        report.counts.add(reading.counts)
        report.outcomes[reading.skip or "digest"] += 1
        report.digests += len(reading.digests)
        waiting.append((file, Reading(tuple(redacted(d) for d in reading.digests), reading.skip)))
        if len(waiting) >= _BATCH:
            _keep(store, waiting)
            waiting.clear()
    _keep(store, waiting)
    return report


def _keep(store: DigestStore, readings: list[tuple[SessionFile, Reading]]) -> None:
    with store.database.transaction():
        for file, reading in readings:
            for digest in reading.digests:
                store.put(digest)
            if reading.skip != "unreadable":  # permissions may change and leave size and time as they are
                store.remember_file(replace(file, path=Path(_path(file))), reading.skip or "digest")


def redacted(digest: SessionDigest) -> SessionDigest:
    """A digest as it may be stored: masked, then cut."""
    return replace(
        digest,
        git_branch=redact(digest.git_branch),
        git_commit=redact(digest.git_commit),
        turns=tuple(_turn(turn) for turn in digest.turns),
        tools_used=_all(digest.tools_used),
        skills_used=_all(digest.skills_used),
        files_touched=_all(digest.files_touched),
        raw_path=redact(digest.raw_path),
    )


def _turn(turn: Turn) -> Turn:
    return replace(
        turn,
        prompt=clean(turn.prompt, MAX_TEXT),
        answer=clean(turn.answer, MAX_TEXT),
        tools=_all(turn.tools),
        skills=_all(turn.skills),
        files=_all(turn.files),
    )


def _all(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(redact(name) for name in names)


def _path(file: SessionFile) -> str:
    """A path as the store keeps it: names that are no UTF-8 are escaped."""
    return os.fsencode(file.path).decode("utf-8", "backslashreplace")
