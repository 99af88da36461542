"""A chat model with a shell in a workspace: the generic agent, for any model that can call tools.

Model calls are journalled by the chat model, commands by this loop. A resumed run therefore sends the same requests and
gets the same results without running anything (`shell`).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt.agents.base import Attempt, Task, TokenSums, first_prompts, text_of, truncated
from skillopt.agents.chat import request_of
from skillopt.agents.shell import Shell, ToolLoopSettings
from skillopt.agents.trace import READ_NOTE
from skillopt.agents.workspace import NAME, SKILL_FOLDERS, Delivery, build_workspace, mark_of
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten
from skillopt.model.types import ChatModel, ChatReply, ChatRequest, Message, ToolCall
from skillopt.store.journal import Journal, Recorded
from skillopt.work.errors import WorkerLost

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
        workspace = build_workspace(task.messages(""), task.skill, self._settings.delivery)
        shell = Shell(workspace, self._new_place(), self._settings, self._journal, self._running)
        first = _first(task, self._settings.delivery)
        loop = _Loop(self._chat, task, self._settings, shell, first)
        try:
            attempt = await loop.run()
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


def _first(task: Task, delivery: Delivery) -> tuple[Message, ...]:
    """The environment's request with what an agent has to know, at the end of its system message."""
    messages = task.messages(task.skill.text if delivery == "prompt" else "")
    lines = [
        "You work in a directory of your own with the tool `bash`. The task is also in its file `task.md`.",
        "When you are done, answer without calling a tool: that message is read, and nothing else.",
    ]
    if delivery == "native":
        lines.insert(1, f"A skill says how to do it: read `{SKILL_FOLDERS[0]}/{NAME}/SKILL.md` first and follow it.")
    note = "## Working\n\n" + "\n".join(lines)
    if messages and messages[0].role == "system":
        return (Message("system", f"{text_of(messages[0])}\n\n{note}"), *messages[1:])
    return (Message("system", note), *messages)


class _Loop:
    """One attempt on its way."""

    def __init__(
        self,
        chat: ChatModel,
        task: Task,
        settings: ToolLoopSettings,
        shell: Shell,
        first: tuple[Message, ...],
    ) -> None:
        self._chat, self._task, self._settings, self._shell = chat, task, settings, shell
        self._first = first
        self._messages = list(first)
        self._tokens = TokenSums()
        self._trajectory: list[dict[str, JsonValue]] = []
        self._mark = mark_of(task.skill)
        self._read = settings.delivery == "prompt"
        self._commands = 0

    async def run(self) -> Attempt:
        """Turn by turn until an answer, a loss or the limit of turns."""
        for turn in range(1, self._settings.max_turns + 1):
            try:
                reply = await self._chat.chat(request_of(self._task, tuple(self._messages), tools=(BASH,)))
            except StopRun:
                raise
            except ModelError as error:
                return self._attempt(lost=str(error), reason="lost")
            self._tokens.add(reply.usage)
            if reply.text.strip() or not reply.tool_calls:
                self._trajectory.append({"type": "message", "turn": turn, "content": reply.text})
            if reply.finish == "length":
                return await self._ended(cut=truncated(self._task.sampling.max_completion_tokens), reason="length")
            if not reply.tool_calls:
                return await self._ended(text=reply.text, reason="completed")
            self._messages.append(reply.message())
            for call in reply.tool_calls:
                try:
                    self._messages.append(Message("tool", await self._called(call), tool_call_id=call.id))
                except WorkerLost as error:
                    return self._attempt(lost=str(error), reason="lost")
        cut = f"out-of-turns: {self._settings.max_turns} turns without an answer"
        return await self._ended(cut=cut, reason="turns")

    async def _ended(self, *, text: str = "", cut: str = "", reason: str) -> Attempt:
        """An end that is the model's own, with what it left where the scorer wants that."""
        if not self._task.files:
            return self._attempt(text=text, cut=cut, reason=reason)
        key = digest(
            {
                "kind": "tool_files",
                "v": KEY_VERSION,
                "messages": [m.to_json() for m in self._messages],
                "repeat": self._task.repeat,
                "seconds": self._settings.command_seconds,
            }
        )
        try:
            left = await self._shell.left(key, self._task.stage)
        except WorkerLost as error:
            return self._attempt(lost=str(error), reason="lost")
        return replace(self._attempt(text=text, cut=cut, reason=reason), workspace=left)

    async def _called(self, call: ToolCall) -> str:
        """Run one call; whatever is wrong with it is told to the model."""
        command = _command(call)
        if command is None:
            shown = f'(not run: expected bash with {{"command": text}}, got {call.name} {shorten(call.arguments, 200)})'
            self._trajectory.append({"type": "tool_call", "cmd": f"{call.name} {call.arguments}", "obs": shown})
            return shown
        self._commands += 1
        key = digest(
            {
                "kind": "tool",
                "v": KEY_VERSION,
                "messages": [m.to_json() for m in self._messages],
                "call": call.to_json(),
                "repeat": self._task.repeat,
                "seconds": self._settings.command_seconds,
            }
        )
        result = await self._shell.result(key, self._task.stage, command)
        output, code = str(result["output"]), result["exit_code"]
        seen = self._mark in output
        self._read = self._read or seen
        row: dict[str, JsonValue] = {"type": "tool_call", "cmd": redact(command), "obs": READ_NOTE if seen else output}
        self._trajectory.append(row if code is None else {**row, "exit_code": code})
        return output if code in (0, None) else f"{output}\n(exit code {code})"

    def _attempt(self, *, text: str = "", lost: str = "", cut: str = "", reason: str) -> Attempt:
        system, user = first_prompts(self._first)
        notes = {"harness": "tool_loop", "exit_reason": reason, "skill_read": self._read, "commands": self._commands}
        return Attempt(
            text=text,
            trajectory=tuple(self._trajectory),
            tokens=self._tokens.to_json(),
            system_prompt=system,
            user_prompt=user,
            lost=lost,
            cut=cut,
            notes=notes,
        )


def _command(call: ToolCall) -> str | None:
    """The command of a well-formed call, else None."""
    try:
        arguments: Any = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    command: Any = arguments.get("command") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return command if call.name == "bash" and isinstance(command, str) else None
