"""Sessions written as the three agents write them, as far as a reader looks at their files."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Said:
    """One turn: what was typed, what was answered, what a tool put out in between."""

    prompt: str
    answer: str
    output: str = ""


@dataclass(frozen=True)
class Planned:
    """A session to be written. `cut` leaves the last line half written."""

    agent: str
    session_id: str
    cwd: str
    at: float
    turns: tuple[Said, ...]
    human: bool = True
    cut: bool = False


def write(home: Path, session: Planned) -> Path:
    """Put the session where its agent would; the path. `home` holds one directory an agent."""
    rows = {"claude": _claude, "codex": _codex, "copilot": _copilot}[session.agent](session)
    path = home / session.agent / {
        "claude": f"projects/{session.cwd.replace('/', '-').replace('.', '-')}/{session.session_id}.jsonl",
        "codex": f"sessions/2026/03/02/rollout-{session.session_id}.jsonl",
        "copilot": f"session-state/{session.session_id}/events.jsonl",
    }[session.agent]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text + '{"type":"user","mess' if session.cut else text, encoding="utf-8")
    return path


def ended(session: Planned) -> float:
    """When its last record was written."""
    return session.at + 60 * len(session.turns)


def _iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"


def _claude(session: Planned) -> list[dict[str, object]]:
    voice = {"origin": {"kind": "human"}, "promptSource": "typed", "entrypoint": "cli"}
    if not session.human:
        voice = {"promptSource": "sdk", "entrypoint": "sdk-cli"}
    rows: list[dict[str, object]] = []
    parent: str | None = None

    def line(kind: str, at: float, message: dict[str, object], **more: object) -> None:
        nonlocal parent
        uuid = f"{session.session_id}-{len(rows)}"
        common = {"cwd": session.cwd, "sessionId": session.session_id, "gitBranch": "main", "timestamp": _iso(at)}
        rows.append({"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **common, **more})
        parent = uuid

    for n, said in enumerate(session.turns):
        at = session.at + 60 * n
        line("user", at, {"role": "user", "content": said.prompt}, **voice)
        if said.output:
            call = {"type": "tool_use", "id": f"t{n}", "name": "WebFetch", "input": {}}
            line("assistant", at + 5, {"id": f"m{n}a", "role": "assistant", "content": [call]})
            result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": said.output}
            line("user", at + 6, {"role": "user", "content": [result]}, toolUseResult={"ok": True})
        line(
            "assistant",
            at + 30,
            {"id": f"m{n}", "role": "assistant", "content": [{"type": "text", "text": said.answer}]},
        )
    return rows


def _codex(session: Planned) -> list[dict[str, object]]:
    origin = "codex-tui" if session.human else "codex_exec"
    meta = {
        "id": session.session_id,
        "cwd": session.cwd,
        "originator": origin,
        "source": "vscode",
        "git": {"branch": "main"},
    }
    rows: list[dict[str, object]] = [{"timestamp": _iso(session.at), "type": "session_meta", "payload": meta}]

    def event(at: float, payload: dict[str, object]) -> None:
        rows.append({"timestamp": _iso(at), "type": "event_msg", "payload": payload})

    for n, said in enumerate(session.turns):
        at = session.at + 60 * n
        item = {"type": "UserMessage", "content": [{"type": "text", "text": said.prompt}]}
        event(at, {"type": "item_completed", "item": item})
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said.prompt}]}
        rows.append({"timestamp": _iso(at), "type": "response_item", "payload": message})
        if said.output:
            done = {"type": "CommandExecution", "parsed_cmd": [], "aggregated_output": said.output}
            event(at + 5, {"type": "item_completed", "item": done})
        answer = {"type": "AgentMessage", "content": [{"type": "Text", "text": said.answer}]}
        event(at + 30, {"type": "item_completed", "item": answer})
    return rows


def _copilot(session: Planned) -> list[dict[str, object]]:
    context = {"cwd": session.cwd, "branch": "main"}
    mode = "an interactive tool" if session.human else "in non-interactive mode"
    rows: list[dict[str, object]] = []

    def record(kind: str, at: float, data: dict[str, object]) -> None:
        rows.append({"type": kind, "data": data, "id": f"e{len(rows)}", "timestamp": _iso(at)})

    record("session.start", session.at, {"sessionId": session.session_id, "context": context})
    record("system.message", session.at, {"content": f"You are {mode}"})
    for n, said in enumerate(session.turns):
        at = session.at + 60 * n
        record("user.message", at, {"content": said.prompt, "transformedContent": f"<x/>{said.prompt}"})
        if said.output:
            record("tool.execution_complete", at + 5, {"success": True, "result": {"content": said.output}})
        record("assistant.message", at + 30, {"content": said.answer, "toolRequests": []})
    return rows
