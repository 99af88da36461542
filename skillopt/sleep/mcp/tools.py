"""The tools: status, plan, harvest and review look; run starts a night as a process of its own. Nothing adopts.

An argument is checked strictly and becomes a flag of the command, so a tool does what the command does. Every tool
needs the project. A result says everything twice, as structured content and as text: two of three clients show their
model only the first.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import SkillOptError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.table import find
from skillopt.sleep.errors import SleepError
from skillopt.sleep.mcp.protocol import BadParams
from skillopt.sleep.night.opening import unfinished
from skillopt.sleep.redact import redact
from skillopt.sleep.settings.schema import BACKENDS, SOURCES
from skillopt.sleep.state.paths import is_night_id
from skillopt.sleep.state.private import make_directory

_WAIT_S, _POLL_S = 5.0, 0.1
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,)
}  # fmt: skip
_READ: JsonObject = {
    "source": {"type": "array", "items": {"type": "string", "enum": list(SOURCES)}, "description": "whose sessions"},
    "scope": {"type": "string", "enum": ["invoked", "all"]},
    "claude_home": {"type": "string"},
    "codex_home": {"type": "string"},
    "copilot_home": {"type": "string"},
    "opencode_db": {"type": "string"},
    "lookback_hours": {"type": "number", "minimum": 0},
    "max_sessions": {"type": "integer", "minimum": 0},
    "max_tasks": {"type": "integer", "minimum": 0},
}
_NIGHT: JsonObject = {
    "backend": {"type": "string", "enum": [name for name in BACKENDS if name and name != "demo"]},
    "model": {"type": "string"},
    "claude_path": {"type": "string"},
    "codex_path": {"type": "string"},
    "copilot_path": {"type": "string"},
    "edit_budget": {"type": "integer", "minimum": 0},
    "max_calls": {"type": "integer", "minimum": 0},
    "max_tokens": {"type": "integer", "minimum": 0},
    "max_cost": {"type": "number", "minimum": 0},
    "max_minutes": {"type": "number", "minimum": 0},
    "repeats": {"type": "integer", "minimum": 1},
    "rollouts": {"type": "integer", "minimum": 0},
    "target": {"type": "array", "items": {"type": "string"}},
    "target_skill_path": {"type": "string"},
    "skill_root": {"type": "array", "items": {"type": "string"}},
    "preferences": {"type": "string"},
    "tasks_file": {"type": "string"},
}
_PLACE: JsonObject = {
    "project": {"type": "string", "description": "absolute path of the project"},
    "state_dir": {"type": "string"},
    "config": {"type": "string"},
}


@dataclass(frozen=True)
class Tool:
    """A tool and its command."""

    name: str
    command: str
    about: str
    arguments: JsonObject
    required: tuple[str, ...] = ("project",)
    looks_only: bool = True

    def described(self) -> JsonObject:
        """The entry of `tools/list`."""
        return {
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object",
                "properties": {**_PLACE, **self.arguments},
                "required": list(self.required),
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": self.looks_only, "destructiveHint": False, "openWorldHint": False},
        }


_REVIEW: JsonObject = {"night": {"type": "string", "description": "a night's id; the latest if absent"}}
TOOLS: tuple[Tool, ...] = (
    Tool("sleep_status", "status", "Last nights, what waits for the person, what is in force, a running night.", {}),
    Tool("sleep_dry_run", "plan", "What a night would read, learn from and cost. Spends nothing.", {**_READ, **_NIGHT}),
    Tool("sleep_harvest", "harvest", "Read the sessions in and show which requests come back.", {**_READ}),
    Tool(
        "sleep_review",
        "review",
        "A night's report and diff. Show them to the person before offering adoption, which is the person's own "
        "command in a terminal: skillopt-sleep adopt, reject or revert.",
        _REVIEW,
    ),
    Tool(
        "sleep_run",
        "run",
        "Start a night within these caps; it only stages a proposal. Follow it with sleep_status.",
        {**_READ, **_NIGHT},
        ("project", "max_calls", "max_tokens", "max_minutes"),
        looks_only=False,
    ),
)


PERSONS: Mapping[str, str] = {
    f"sleep_{command}": command for command in ("adopt", "reject", "revert", "schedule", "unschedule")
}
"""Not offered: whoever calls them is told the command that the person types."""


async def call_tool(name: str, arguments: Mapping[str, JsonValue], environ: Mapping[str, str]) -> JsonObject:
    """Run a tool; its MCP result. Raises `BadParams` naming the argument."""
    if name in PERSONS:
        project = str(arguments.get("project") or "PATH")
        command = f"skillopt-sleep {PERSONS[name]} --project {shlex.quote(project)}"
        return result_of(2, "", f"this is the person's own decision, made in a terminal: {command}")
    tool = next(tool for tool in TOOLS if tool.name == name)
    words = checked_words(tool, arguments)
    if tool.command == "run":
        return await _started(words, environ)
    code, output, said = await in_process(tool.command, [*words, "--json"], environ)
    return result_of(code, output, said)


def checked_words(tool: Tool, arguments: Mapping[str, JsonValue]) -> list[str]:
    """The command line of a call. Raises `BadParams`."""
    known: Mapping[str, JsonValue] = {**_PLACE, **tool.arguments}
    for name in tool.required:
        if name not in arguments:
            raise BadParams(f"argument {name!r} is missing")
    words: list[str] = []
    for name, value in arguments.items():
        rule = known.get(name)
        if not isinstance(rule, Mapping):
            raise BadParams(f"unknown argument {name!r}; {tool.name} takes {', '.join(known)}")
        _check(name, value, rule)
        if name == "night":
            if not is_night_id(str(value)):
                raise BadParams("argument 'night' is no night's id")
            words.append(str(value))
            continue
        for part in value if isinstance(value, list) else [value]:
            words.append(f"--{name.replace('_', '-')}={part}")
    project = str(arguments["project"])
    if not os.path.isabs(project) or not os.path.isdir(project):
        raise BadParams("argument 'project' must be an absolute path of an existing directory")
    return words


def _check(name: str, value: JsonValue, rule: Mapping[str, JsonValue]) -> None:
    kind = str(rule.get("type"))
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise BadParams(f"argument {name!r} must be of type {kind}")
    choices = rule.get("enum")
    if isinstance(choices, list) and value not in choices:
        raise BadParams(f"argument {name!r} must be one of {', '.join(map(str, choices))}")
    least = rule.get("minimum")
    if isinstance(least, (int, float)) and isinstance(value, (int, float)) and value < least:
        raise BadParams(f"argument {name!r} must be at least {least}")
    inner = rule.get("items")
    if isinstance(value, list) and isinstance(inner, Mapping):
        for part in value:
            _check(name, part, inner)


async def in_process(command: str, words: list[str], environ: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a command here; exit code, stdout, stderr."""
    found = find(command)
    if found is None:
        raise BadParams(f"unknown command {command!r}")
    parser = argparse.ArgumentParser(exit_on_error=False)
    found.flags(parser)
    out, err = io.StringIO(), io.StringIO()
    call = Call(parser.parse_args(words), environ, Path.cwd(), stdin=io.StringIO(), stdout=out, stderr=err)
    try:
        return await found.run(call), out.getvalue(), err.getvalue()
    except SkillOptError as fault:
        return fault.exit_code if isinstance(fault, SleepError) else 1, out.getvalue(), redact(str(fault))


async def _started(words: list[str], environ: Mapping[str, str]) -> JsonObject:
    """A night as a process of its own, which outlives this server."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    found = find("run")
    if found is None:
        raise BadParams("unknown command 'run'")
    found.flags(parser)
    call = Call(parser.parse_args(words), environ, Path.cwd(), stdout=io.StringIO(), stderr=io.StringIO())
    try:
        paths = call.paths(call.resolved())
    except SkillOptError as fault:
        return result_of(fault.exit_code if isinstance(fault, SleepError) else 1, "", redact(str(fault)))
    make_directory(paths.logs)
    log = paths.logs / f"mcp-{os.getpid()}.log"
    before = unfinished(paths)
    process = _begun([*_program(), "run", *words, "--yes"], log, environ)
    for _ in range(round(_WAIT_S / _POLL_S)):
        await asyncio.sleep(_POLL_S)
        code = process.poll()
        if code is not None:
            text = log.read_text(encoding="utf-8", errors="replace")[-4_000:]
            return result_of(code, text if code in (0, 3) else "", text)
        if unfinished(paths) not in ("", before):
            break
    night = unfinished(paths)
    told = json.dumps({"night": night or None, "process": process.pid, "log": str(log), "next": "sleep_status"})
    return result_of(0, told, "", status="running")


def _begun(command: list[str], log: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            env=dict(environ),
        )


def _program() -> list[str]:
    if sys.argv and sys.argv[0].endswith(".pyz"):
        return [sys.executable, str(Path(sys.argv[0]).resolve())]
    return [sys.executable, "-m", "skillopt.sleep"]


def result_of(code: int, output: str, said: str, *, status: str = "") -> JsonObject:
    """A tool's result: complete in structured content, and the same as text."""
    status = status or {0: "ok", 2: "refused", 3: "handoff_pending", 4: "stopped"}.get(code, "failed")
    value: JsonObject = {"status": status, "exit_code": code, "output": redact(output), "diagnostics": redact(said)}
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return {
        "structuredContent": value,
        "content": [{"type": "text", "text": text}],
        "isError": code not in (0, 3),
    }
