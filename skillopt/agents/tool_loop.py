"""A chat model with a shell in a workspace: the generic agent, for any model that can call tools.

Model calls are journalled by the chat model, commands by this loop. A resumed run therefore sends the same requests and
gets the same results without running anything (`shell`).
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt.agents.base import Attempt, Task, text_of
from skillopt.agents.shell import Shell, ToolLoopSettings
from skillopt.agents.skill_package import mark_of
from skillopt.agents.tool_turns import ToolTurns
from skillopt.agents.trace import READ_NOTE
from skillopt.agents.workspace import Delivery, build_workspace
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue, parse_json
from skillopt.core.package import skill_part
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten
from skillopt.model.types import ChatModel, ChatReply, ChatRequest, Message, ToolCall
from skillopt.store.journal import Journal, Recorded

KEY_VERSION = 1

BASH: JsonObject = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a shell command in the working directory and read its output.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command line."}},
            "required": ["command"],
            "additionalProperties": False,
        },
    },
}


class ToolLoopAgent:
    """An `Agent` around a chat model; asked as a chat model it is that model."""

    def __init__(self, chat: ChatModel, settings: ToolLoopSettings, *, journal: Journal) -> None:
        self._chat, self._settings, self._journal = chat, settings, journal
        self._running = asyncio.Semaphore(settings.at_once)
        self._root: Path | None = None
        self._count = itertools.count(1)

    @property
    def model(self) -> str:
        """Model name, for records."""
        return self._chat.model

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A plain question to the model."""
        return await self._chat.chat(request)

    async def attempt(self, task: Task) -> Attempt:
        """Work on one task until the model calls no tool any more."""
        workspace = build_workspace(
            task.messages(""), task.skill, self._settings.delivery, given=task.given(), beside=self._settings.beside
        )
        shell = Shell(workspace, self._new_place(), self._settings, self._journal, self._running)
        first = _first(task, self._settings.delivery, workspace.place)
        box = ShellTools(task, self._settings, shell)
        try:
            attempt = await ToolTurns(self._chat, task, first, box, max_turns=self._settings.max_turns).run()
        finally:
            await asyncio.to_thread(shutil.rmtree, shell.place, True)
        if not attempt.lost:
            self._note(task, first, attempt)
        return attempt

    def _note(self, task: Task, first: tuple[Message, ...], attempt: Attempt) -> None:
        """Keep what the attempt tells of the skill beside the runs of agent CLIs; its calls are in the journal."""
        key = digest({"kind": "tool_loop", "v": KEY_VERSION, "model": self.model, "repeat": task.repeat,
                      "first": [m.to_json() for m in first], "skill": task.skill.hash})  # fmt: skip
        self._journal.put_now(
            key,
            Recorded(value={"notes": dict(attempt.notes)}, kind="agent", stage=task.stage, role="target", calls=0,
                     prompt_tokens=0, completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0),
        )  # fmt: skip

    def _new_place(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="skillopt-tools-")).resolve()
        return self._root / f"{next(self._count):06d}"

    async def aclose(self) -> None:
        """Remove what is left. Idempotent."""
        if self._root is not None:
            await asyncio.to_thread(shutil.rmtree, self._root, True)
            self._root = None


def _first(task: Task, delivery: Delivery, place: str) -> tuple[Message, ...]:
    """The environment's request with what an agent has to know, at the end of its system message."""
    messages = task.messages(skill_part(task.skill.text) if delivery == "prompt" else "")
    lines = [
        "You work in a directory of your own with the tool `bash`. The task is also in its file `task.md`.",
        "When you are done, answer without calling a tool: that message is read, and nothing else.",
    ]
    if delivery == "native":
        lines.insert(1, f"A skill says how to do it: read `{place}` first and follow it.")
    note = "## Working\n\n" + "\n".join(lines)
    if messages and messages[0].role == "system":
        return (Message("system", f"{text_of(messages[0])}\n\n{note}"), *messages[1:])
    return (Message("system", note), *messages)


class ShellTools:
    """The tool `bash`, in the workspace of one attempt; a `Toolbox`."""

    tools = (BASH,)

    def __init__(self, task: Task, settings: ToolLoopSettings, shell: Shell) -> None:
        self._task, self._settings, self._shell = task, settings, shell
        self._mark = mark_of(task.skill)
        self._read = settings.delivery == "prompt"
        self._commands = 0

    async def called(self, call: ToolCall, messages: Sequence[Message]) -> tuple[str, JsonObject]:
        """Run one call; whatever is wrong with it is told to the model."""
        command = _command(call)
        if command is None:
            shown = f'(not run: expected bash with {{"command": text}}, got {call.name} {shorten(call.arguments, 200)})'
            return shown, {"type": "tool_call", "cmd": f"{call.name} {call.arguments}", "obs": shown}
        self._commands += 1
        key = self._key({"kind": "tool", "call": call.to_json()}, messages)
        result = await self._shell.result(key, self._task.stage, command)
        output, code = str(result["output"]), result["exit_code"]
        seen = self._mark in output
        self._read = self._read or seen
        row: JsonObject = {"type": "tool_call", "cmd": redact(command), "obs": READ_NOTE if seen else output}
        row = row if code is None else {**row, "exit_code": code}
        return (output if code in (0, None) else f"{output}\n(exit code {code})"), row

    async def finished(self, attempt: Attempt, messages: Sequence[Message]) -> Attempt:
        """With the files that were left, where the scorer wants them."""
        if not self._task.files:
            return attempt
        left = await self._shell.left(self._key({"kind": "tool_files"}, messages), self._task.stage)
        return replace(attempt, workspace=left)

    def notes(self) -> JsonObject:
        """Whether the skill was read, and how many commands were run."""
        return {"harness": "tool_loop", "skill_read": self._read, "commands": self._commands}

    def _key(self, what: JsonObject, messages: Sequence[Message]) -> str:
        said: list[JsonValue] = [m.to_json() for m in messages]
        more: JsonObject = {"v": KEY_VERSION, "messages": said, "repeat": self._task.repeat,
                            "seconds": self._settings.command_seconds}  # fmt: skip
        if self._settings.delivery == "native":  # the skill is in a file that commands read, and in no message
            more = {**more, "skill": self._task.skill.hash}
        if files := self._settings.beside.digest:
            more = {**more, "beside": files}
        return digest({**what, **more})


def _command(call: ToolCall) -> str | None:
    """The command of a well-formed call, else None."""
    try:
        arguments: Any = parse_json(call.arguments or "{}")
    except ValueError:
        return None
    command: Any = arguments.get("command") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return command if call.name == "bash" and isinstance(command, str) else None
