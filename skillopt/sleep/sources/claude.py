"""Claude Code: `<claude_home>/projects/<directory>/<session>.jsonl`, one line a block, linked by `parentUuid`.

Only the branch that ends in the live leaf is read: lines off it were left by a rewind. A compaction starts a new root;
reading goes on at the line before it. A broken chain is read in file order, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.records import entries, mapping, text
from skillopt.sleep.digest import Origin
from skillopt.sleep.sources.building import SessionBuilder
from skillopt.sleep.sources.lines import as_file, records, walk
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Wanted
from skillopt.sleep.sources.times import BadTime, epoch

_KNOWN = frozenset((
    "user", "assistant", "system", "attachment", "summary", "file-history-snapshot", "file-history-delta",
    "last-prompt", "queue-operation", "mode", "permission-mode", "atis-latch", "api-request-shape",
    "api-request-blob", "api-request", "tools-used", "cost-state",
))  # fmt: skip
_TALK = frozenset(("user", "assistant"))


@dataclass(frozen=True)
class Claude:
    """Sessions of Claude Code under one home."""

    home: Path
    name: str = "claude"

    def places(self) -> tuple[Path, ...]:
        """Where it looks."""
        return (self.home / "projects",)

    def files(self) -> Iterator[SessionFile]:
        """Every session file but those of sub-agents."""
        for entry in walk(self.home / "projects", skip=frozenset(("subagents",)), depth=2):
            if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-"):
                file = as_file(self.name, entry)
                if file is not None:
                    yield file

    def read(self, file: SessionFile, wanted: Wanted) -> Reading:
        """The digest of one session."""
        log, counts = _Log(), Counts()
        try:
            for record in records(file.path, counts):
                kind = text(record, "type")
                counts.record_types[kind] += 1
                if kind not in _KNOWN:
                    counts.unknown_types[kind] += 1
                log.take(record, kind)
                if log.directory and not wanted.in_project(log.directory):
                    return Reading(skip="other_project", counts=Counts())
        except OSError:
            return Reading(skip="unreadable", counts=counts)
        if not counts.record_types:
            return Reading(skip="not_understood" if counts.bad_lines else "empty", counts=counts)
        if not counts.record_types.keys() & _KNOWN:
            return Reading(skip="not_understood", counts=counts)
        if not log.directory:
            return Reading(skip="no_project" if log.talk else "empty", counts=counts)
        return _digested(log, file, wanted, counts)


def _digested(log: _Log, file: SessionFile, wanted: Wanted, counts: Counts) -> Reading:
    path = log.live_branch()
    if path is None:
        counts.broken_chains += 1
        path = log.talk
    builder = SessionBuilder("claude", wanted.markers, log.session_id or file.path.stem, log.directory, log.branch)
    builder.origin = _origin(path)
    try:
        _fill(builder, path)
        for name, at in log.files.items():
            builder.file(name, epoch(at) if at else None)
    except BadTime:
        counts.bad_sessions += 1
        return Reading(skip="bad_time", counts=counts)
    digest = builder.digest(file)
    return Reading((digest,), counts=counts) if digest else Reading(skip="empty", counts=counts)


@dataclass
class _Log:
    """The lines that matter, in file order, and what the session says about itself."""

    session_id: str = ""
    directory: str = ""
    branch: str = ""
    leaf: str = ""
    talk: list[JsonObject] = field(default_factory=list[JsonObject])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    order: list[str] = field(default_factory=list[str])
    compacted: frozenset[str] = frozenset()
    files: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, record: JsonObject, kind: str) -> None:
        """Keep what the digest needs of one record."""
        self.session_id = self.session_id or text(record, "sessionId")
        self.directory = self.directory or text(record, "cwd")
        self.branch = text(record, "gitBranch") or self.branch
        if kind == "last-prompt":
            self.leaf = text(record, "leafUuid") or self.leaf
        elif kind == "file-history-snapshot":
            snapshot = mapping(record, "snapshot")
            for name in mapping(snapshot, "trackedFileBackups"):
                saved = text(mapping(snapshot, "trackedFileBackups", name), "backupTime")
                self.files.setdefault(name, saved or text(snapshot, "timestamp"))
        elif kind == "file-history-delta" and text(record, "trackingPath"):
            saved = text(record, "timestamp") or text(mapping(record, "backup"), "backupTime")
            self.files.setdefault(text(record, "trackingPath"), saved)
        uuid = text(record, "uuid")
        if uuid and record.get("isSidechain") is not True:
            if text(record, "subtype") == "compact_boundary" and self.order:
                self.compacted |= {uuid}
                self.parents[uuid] = self.order[-1]
            else:
                self.parents[uuid] = text(record, "parentUuid")
            self.order.append(uuid)
        if kind in _TALK:
            self.talk.append(_light(record, kind))

    def live_branch(self) -> list[JsonObject] | None:
        """The lines of the branch that ends in the live leaf, sidechains left out; None for a broken chain."""
        if not self.order:
            return list(self.talk)
        last, leaf = self.order[-1], self.leaf
        above = self._above(last)
        if above is None:
            return None
        if leaf in self.parents and leaf not in above:
            above = self._above(leaf)
        elif leaf and leaf not in self.parents:
            return None
        if above is None:
            return None
        return [line for line in self.talk if text(line, "uuid") in above]

    def _above(self, leaf: str) -> frozenset[str] | None:
        path: set[str] = set()
        while leaf:
            if leaf in path or leaf not in self.parents:
                return None
            path.add(leaf)
            leaf = self.parents[leaf]
        return frozenset(path)


def _light(record: JsonObject, kind: str) -> JsonObject:
    """A line without what a digest never reads: only texts, names of tools and flags stay in memory."""
    if kind == "user":
        return record
    return {name: record[name] for name in ("type", "uuid", "timestamp", "message", "isSidechain", "isApiErrorMessage",
        "attributionSkill") if name in record}  # fmt: skip


def _origin(path: list[JsonObject]) -> Origin:
    """Who was at the keyboard, from the lines that could be prompts."""
    prompts = [line for line in path if text(line, "type") == "user" and _may_be_prompt(line)]
    if any(line.get("isSidechain") is True for line in prompts):
        return "subagent"
    voices = {_voice(line) for line in prompts}
    for origin in ("human", "headless", "hook"):
        if origin in voices:
            return origin
    return "unknown"


def _voice(line: JsonObject) -> Origin:
    kind = text(mapping(line, "origin"), "kind")
    if kind == "human" or text(line, "promptSource") == "typed" or text(line, "turnOrigin") == "human":
        return "human"
    if "sdk" in (text(line, "promptSource"), text(line, "turnOrigin")) or text(line, "entrypoint") == "sdk-cli":
        return "headless"
    if kind:
        return "hook"
    return "human" if text(line, "entrypoint") == "cli" else "unknown"


def _may_be_prompt(line: JsonObject) -> bool:
    flags = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    return not any(line.get(flag) is True for flag in flags) and "toolUseResult" not in line and _typed(line) != ""


def _typed(line: JsonObject) -> str:
    """The text of a user line; blank where it carries a tool's result."""
    message = mapping(line, "message")
    if text(message, "content"):
        return text(message, "content")
    blocks = entries(message, "content")
    if any(text(block, "type") == "tool_result" for block in blocks):
        return ""
    return "\n".join(text(block, "text") for block in blocks if text(block, "type") == "text")


def _fill(builder: SessionBuilder, path: list[JsonObject]) -> None:
    message_id = ""
    for line in path:
        if line.get("isSidechain") is True and builder.origin != "subagent":
            continue
        at = epoch(text(line, "timestamp")) if text(line, "timestamp") else None
        builder.seen(at)
        if text(line, "type") == "user":
            _user(builder, line, at)
            continue
        message = mapping(line, "message")
        if text(message, "model") == "<synthetic>" or line.get("isApiErrorMessage") is True:
            continue
        _assistant(builder, message, at, goes_on=message_id != "" and message_id == text(message, "id"))
        builder.skill(text(line, "attributionSkill"))
        message_id = text(message, "id")


def _user(builder: SessionBuilder, line: JsonObject, at: float | None) -> None:
    for block in entries(mapping(line, "message"), "content"):
        if text(block, "type") == "tool_result":
            whole = text(block, "content") or "\n".join(text(part, "text") for part in entries(block, "content"))
            builder.tool_output(whole)
    if not _may_be_prompt(line):
        return
    voice = _voice(line)
    if voice in ("human", "unknown") or voice == builder.origin or _typed(line).startswith("[Request interrupted"):
        builder.prompt(_typed(line), at)


def _assistant(builder: SessionBuilder, message: JsonObject, at: float | None, *, goes_on: bool) -> None:
    for block in entries(message, "content"):
        kind = text(block, "type")
        if kind == "text":
            builder.answer(text(block, "text"), at, goes_on=goes_on)
            goes_on = True
        elif kind == "tool_use":
            builder.tool(text(block, "name"))
            if text(block, "name") == "Skill":
                builder.skill(text(mapping(block, "input"), "skill"))
