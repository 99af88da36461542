"""Copilot CLI: `<copilot_home>/session-state/<id>/events.jsonl`, and its database for sessions that have no such file.

All but one record look the same for a person and for a script: only the system message says "non-interactive mode", and
it is read for nothing else. `--resume` appends to the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.records import entries, mapping, text
from skillopt.sleep.sources.building import SessionBuilder
from skillopt.sleep.sources.copilot_store import STORE, read_store, store_file
from skillopt.sleep.sources.lines import found, open_session, records, walk
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Wanted
from skillopt.sleep.sources.times import BadTime, epoch

_KNOWN = frozenset((
    "session.start", "session.resume", "session.shutdown", "session.error", "session.model_change",
    "session.permissions_changed", "session.usage_record", "session.truncation", "session.compaction_start",
    "session.compaction_complete", "user.message", "system.message", "assistant.turn_start",
    "assistant.turn_end", "assistant.message", "assistant.reasoning", "tool.execution_start",
    "tool.execution_complete", "skill.invoked", "skill.context_delivered_ref", "abort",
))  # fmt: skip
EVENTS = "events.jsonl"
_HEADLESS = "non-interactive mode"


@dataclass(frozen=True)
class CopilotCli:
    """Sessions of Copilot CLI under one home."""

    home: Path
    name: str = "copilot"

    def places(self) -> tuple[Path, ...]:
        """Where it looks."""
        return self.home / "session-state", self.home / STORE

    def files(self) -> Iterator[SessionFile]:
        """Every event file, then the database."""
        for entry in walk(self.home / "session-state", depth=1):
            if entry.name == EVENTS:
                file = found(self.name, Path(entry.path))
                if file is not None:
                    yield file
        store = store_file(self.name, self.home / STORE)
        if store is not None:
            yield store

    def read(self, file: SessionFile, wanted: Wanted) -> Reading:
        """The digest of one event file, or of the database's sessions that have none."""
        if file.path.name == STORE:
            return read_store(file, wanted, has_events=self._has_events)
        log, counts = _Log(SessionBuilder(self.name, wanted.markers)), Counts()
        try:
            for record in records(file.path, counts):
                kind = text(record, "type")
                if record.get("ephemeral") is True:
                    continue
                counts.record_types[kind] += 1
                if kind not in _KNOWN:
                    counts.unknown_types[kind] += 1
                    continue
                log.take(record, kind)
                if log.builder.directory and not wanted.in_project(log.builder.directory):
                    return Reading(skip="other_project", counts=Counts())
        except OSError:
            return Reading(skip="unreadable", counts=counts)
        except BadTime:
            counts.bad_sessions += 1
            return Reading(skip="bad_time", counts=counts)
        if not counts.record_types.keys() & _KNOWN:
            nothing = not counts.record_types and not counts.bad_lines
            return Reading(skip="empty" if nothing else "not_understood", counts=counts)
        return _finished(log, file, wanted, counts)

    def _has_events(self, session_id: str) -> bool:
        plain = Path(session_id).name
        return plain == session_id and (self.home / "session-state" / plain / EVENTS).is_file()


def _finished(log: _Log, file: SessionFile, wanted: Wanted, counts: Counts) -> Reading:
    builder = log.builder
    if not builder.directory:  # older versions: the neighbour file knows
        about = _workspace(file.path.with_name("workspace.yaml"))
        builder.directory, builder.branch = about.get("cwd", ""), builder.branch or about.get("branch", "")
    if not builder.directory:
        return Reading(skip="no_project", counts=counts)
    if not wanted.in_project(builder.directory):
        return Reading(skip="other_project", counts=Counts())
    builder.session_id = builder.session_id or file.path.parent.name
    builder.origin = "headless" if log.headless else "human"
    digest = builder.digest(file)
    return Reading((digest,), counts=counts) if digest else Reading(skip="empty", counts=counts)


@dataclass
class _Log:
    builder: SessionBuilder
    headless: bool = False
    tools: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, record: JsonObject, kind: str) -> None:
        """One record, in order. Raises `BadTime`."""
        data, builder = mapping(record, "data"), self.builder
        at = epoch(text(record, "timestamp")) if text(record, "timestamp") else None
        builder.seen(at)
        if kind == "session.start":
            context = mapping(data, "context")
            builder.session_id = builder.session_id or text(data, "sessionId")
            builder.directory = builder.directory or text(context, "cwd")
            builder.branch = text(context, "branch") or builder.branch
            builder.commit = text(context, "headCommit") or builder.commit
        elif kind == "system.message":
            self.headless = self.headless or _HEADLESS in text(data, "content")
        elif kind == "user.message":
            builder.prompt(text(data, "content"), at)
        elif kind == "assistant.message":
            builder.answer(text(data, "content"), at)
            for request in entries(data, "toolRequests"):
                builder.tool(text(request, "name"))
        elif kind == "tool.execution_complete":
            for edit in entries(data, "fileEdits"):
                builder.file(text(edit, "path"))
            builder.tool_output(text(mapping(data, "result"), "content"))
        elif kind == "skill.invoked":
            builder.skill(text(data, "name"))
        elif kind == "abort":
            builder.interrupted()


def _workspace(path: Path) -> dict[str, str]:
    """The plain `key: value` lines of a session's `workspace.yaml`."""
    try:
        with open_session(path) as stream:
            lines = stream.read(65_536).decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line and not line.startswith((" ", "\t", "#", "-")))
    return {name.strip(): value.strip().strip("'\"") for name, value in pairs}
