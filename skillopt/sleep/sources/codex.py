"""Codex: `<codex_home>/sessions/YYYY/MM/DD/rollout-….jsonl`, and `archived_sessions/` for those not in the live folder.

Every turn is written twice, as event and as item, so one channel per file is read: the first of `item_completed`
events, older `user_message` events, and response items that holds a person's text. Texts of all three are kept while
reading, the choice is made at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skillopt.core.json_types import JsonObject, as_array
from skillopt.harnesses.records import entries, mapping, text
from skillopt.sleep.digest import Origin
from skillopt.sleep.sources.building import SessionBuilder, skill_of
from skillopt.sleep.sources.lines import as_file, records, walk
from skillopt.sleep.sources.reading import Counts, Reading, SessionFile, Wanted
from skillopt.sleep.sources.times import BadTime, epoch

_KNOWN = frozenset((
    "session_meta", "turn_context", "response_item", "event_msg", "token_usage_record", "world_state",
    "compacted",
))  # fmt: skip
Voice = Literal["user", "agent"]
_CONTEXT = re.compile(r"<(user_instructions|[a-z_]{1,40}_context)>.*?</\1>", re.DOTALL)
_AGENTS_FILE = "# AGENTS.md instructions for "
_AGENTS_END = re.compile(r"</(?:INSTRUCTIONS|environment_context)>")
_SKILL = re.compile(r"<skill>\s*<name>([^<]{1,80})</name>")
_HUMAN = frozenset(("codex-tui", "codex_cli_rs", "codex_vscode", "codex_jetbrains", "codex_desktop"))


@dataclass(frozen=True)
class Codex:
    """Sessions of Codex under one home. A session in both folders counts where it lives."""

    home: Path
    name: str = "codex"

    def places(self) -> tuple[Path, ...]:
        """Where it looks."""
        return self.home / "sessions", self.home / "archived_sessions"

    def files(self) -> Iterator[SessionFile]:
        """Every rollout, an archived one only where the live folder has none of its name."""
        live: set[str] = set()
        for place in self.places():
            for entry in walk(place):
                if entry.name.startswith("rollout-") and entry.name.endswith(".jsonl") and entry.name not in live:
                    file = as_file(self.name, entry)
                    if file is not None:
                        live.add(entry.name)
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
                    continue
                log.take(record, kind)
                if log.directory and not wanted.in_project(log.directory):
                    return Reading(skip="other_project", counts=Counts())
        except OSError:
            return Reading(skip="unreadable", counts=counts)
        except BadTime:
            counts.bad_sessions += 1
            return Reading(skip="bad_time", counts=counts)
        if not counts.record_types.keys() & _KNOWN:
            nothing = not counts.record_types and not counts.bad_lines
            return Reading(skip="empty" if nothing else "not_understood", counts=counts)
        if not log.directory:
            return Reading(skip="no_project", counts=counts)
        digest = log.built(file, wanted.markers).digest(file)
        return Reading((digest,), counts=counts) if digest else Reading(skip="empty", counts=counts)


@dataclass
class _Step:
    """One thing that happened, in the channels that tell it."""

    at: float | None
    channel: int
    what: Literal["user", "agent", "tool", "skill", "file", "output", "interrupt"]
    said: str


@dataclass
class _Log:
    meta: JsonObject = field(default_factory=dict[str, str])
    directory: str = ""
    started_at: float | None = None
    triggers: set[str] = field(default_factory=set[str])
    steps: list[_Step] = field(default_factory=list[_Step])
    first_at: float | None = None
    last_at: float | None = None

    def take(self, record: JsonObject, kind: str) -> None:
        """Keep what the digest needs of one record. Raises `BadTime`."""
        at = epoch(text(record, "timestamp")) if text(record, "timestamp") else None
        payload = mapping(record, "payload")
        if kind == "session_meta" and not self.meta:
            self.meta, self.directory, self.started_at = payload, text(payload, "cwd"), at
        if at is not None:
            self.first_at = at if self.first_at is None else min(self.first_at, at)
            self.last_at = at if self.last_at is None else max(self.last_at, at)
        if kind == "event_msg":
            self._event(payload, at)
        elif kind == "response_item":
            self._item(payload, at)

    def built(self, file: SessionFile, markers: tuple[str, ...]) -> SessionBuilder:
        """The session, from the first channel that has a person's text."""
        builder = SessionBuilder("codex", markers, text(self.meta, "id") or file.path.stem, self.directory)
        builder.branch = text(mapping(self.meta, "git"), "branch")
        builder.commit = text(mapping(self.meta, "git"), "commit_hash")
        builder.origin = self._origin()
        builder.seen(self.first_at)
        builder.seen(self.last_at)
        told = {step.channel for step in self.steps if step.what == "user" and step.said}
        channel = next((n for n in (1, 2, 3) if n in told), 1)
        since = self.started_at if text(self.meta, "forked_from_id") else None
        for step in self.steps:
            if since is not None and step.at is not None and step.at < since:
                continue
            _play(builder, step, channel)
        return builder

    def _origin(self) -> Origin:
        source = self.meta.get("source")
        if (isinstance(source, dict) and "subagent" in source) or text(self.meta, "thread_source") == "subagent":
            return "subagent"
        originator = text(self.meta, "originator")
        if originator == "codex_exec" or "exec" in self.triggers:
            return "headless"
        return "human" if originator in _HUMAN or "user" in self.triggers else "unknown"

    def _event(self, payload: JsonObject, at: float | None) -> None:
        kind = text(payload, "type")
        if kind == "task_started":
            self.triggers.add(text(mapping(payload, "turn_attribution"), "turn_trigger"))
        elif kind == "user_message":
            self._step(at, 2, "user", text(payload, "message"))
        elif kind == "agent_message":
            self._step(at, 2, "agent", text(payload, "message"))
        elif kind == "turn_aborted":
            self._step(at, 0, "interrupt", "")
        elif kind == "item_completed":
            self._completed(mapping(payload, "item"), at)

    def _completed(self, item: JsonObject, at: float | None) -> None:
        kind = text(item, "type")
        if kind in ("UserMessage", "AgentMessage"):
            said = "\n".join(text(part, "text") for part in entries(item, "content") if text(part, "text"))
            self._step(at, 1, "user" if kind == "UserMessage" else "agent", said)
        elif kind == "FileChange":
            for path in mapping(item, "changes"):
                self._step(at, 0, "file", path)
        elif kind == "CommandExecution":
            for command in entries(item, "parsed_cmd"):
                if skill_of(text(command, "path")):
                    self._step(at, 0, "skill", skill_of(text(command, "path")))
            self._step(at, 0, "output", text(item, "aggregated_output"))

    def _item(self, payload: JsonObject, at: float | None) -> None:
        kind, role = text(payload, "type"), text(payload, "role")
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._step(at, 0, "tool", text(payload, "name") or kind)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._step(at, 0, "output", text(payload, "output") or text(mapping(payload, "output"), "content"))
        elif kind == "message" and role == "user":
            for said in _typed_parts(payload):
                named = _SKILL.search(said)
                if named and said.lstrip().startswith("<skill>"):
                    self._step(at, 0, "skill", named[1])
                else:
                    self._step(at, 3, "user", _cleaned(said))
        elif kind == "message" and role == "assistant":
            said = "\n".join(text(part, "text") for part in entries(payload, "content") if text(part, "text"))
            self._step(at, 3, "agent", said)

    def _step(
        self,
        at: float | None,
        channel: int,
        what: Literal["user", "agent", "tool", "skill", "file", "output", "interrupt"],
        said: str,
    ) -> None:
        if said.strip() or what == "interrupt":
            self.steps.append(_Step(at, channel, what, said))


def _play(builder: SessionBuilder, step: _Step, channel: int) -> None:
    if step.what == "tool":
        builder.tool(step.said)
    elif step.what == "skill":
        builder.skill(step.said)
    elif step.what == "file":
        builder.file(step.said)
    elif step.what == "output":
        builder.tool_output(step.said)
    elif step.what == "interrupt":
        builder.interrupted()
    elif step.channel == channel:
        if step.what == "user":
            builder.prompt(step.said, step.at)
        else:
            builder.answer(step.said, step.at)


def _typed_parts(payload: JsonObject) -> list[str]:
    """The parts of a user item that a person typed, where the record says which; else all of its texts."""
    texts = [text(part, "text") if isinstance(part, dict) else "" for part in as_array(payload.get("content"))]
    kinds = as_array(mapping(payload, "internal_chat_message_metadata_passthrough").get("content_item_kinds"))
    if kinds:
        texts = [said for said, kind in zip(texts, kinds, strict=False) if kind == "user.text" or _SKILL.search(said)]
    return [said for said in texts if said]


def _cleaned(said: str) -> str:
    """A user item without the context that the program put before it."""
    said = said.strip()
    if said.startswith(_AGENTS_FILE):
        ends = [match.end() for match in _AGENTS_END.finditer(said)]
        said = said[ends[-1] :] if ends else ""
    return _CONTEXT.sub("", said).strip()
