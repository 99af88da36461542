"""A chat model with a shell in a workspace: the generic agent, for any model that can call tools.

Model calls are journalled by the chat model, commands by this loop. A resumed run therefore sends the same requests and
gets the same results without running anything; only when it comes to a command that has no result yet are the earlier
ones run again, to bring the workspace to where it was. Commands run as this user, with a clean environment and a home
of their own, each in a session that is ended to its last process; they are not sandboxed beyond that.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.agents.base import Attempt, Task, TokenSums, first_prompts, text_of, truncated
from skillopt.agents.chat import request_of
from skillopt.agents.trace import LONGEST_OUTPUT, READ_NOTE
from skillopt.agents.workspace import NAME, SKILL_FOLDERS, Delivery, Workspace, build_workspace, mark_of
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten, shorten_middle
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.model.client import CallJournal
from skillopt.model.types import ChatModel, ChatReply, ChatRequest, Message, ToolCall
from skillopt.store.journal import Journal, Recorded
from skillopt.work.errors import WorkerLost
from skillopt.work.executor import Executor
from skillopt.work.programs import run_program
from skillopt.work.unit import Needs

KEY_VERSION = 1
COMMAND = Needs(cpu=0.25, memory_mb=64)
"""What a command occupies: most of them wait more than they work."""
SHOWN_PLACE = "/workspace"
"""What results show instead of the directory's real path, which is another one each time."""

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
_FILE_BLOCKS = 131_072
"""Largest file a command may write, in blocks of 512 bytes: 64 MiB."""


@dataclass(frozen=True)
class ToolLoopSettings:
    """`max_turns` bounds the model's turns for one item, `command_seconds` one command."""

    environ: Mapping[str, str] = field(repr=False)
    delivery: Delivery = "prompt"
    max_turns: int = 30
    command_seconds: float = 60.0
    at_once: int = 4 * (os.cpu_count() or 1)
    """Commands that run at the same time, over all attempts."""
    executor: Executor | None = None
    """Where commands run; None: here."""
    attempts: int = 3
    """How often a command is begun whose worker is lost."""


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
        shell = _Shell(workspace, self._new_place(), self._settings, self._journal, self._running)
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


class _Shell:
    """The workspace of one attempt and the commands that were run in it."""

    def __init__(
        self,
        workspace: Workspace,
        place: Path,
        settings: ToolLoopSettings,
        journal: CallJournal,
        running: asyncio.Semaphore,
    ) -> None:
        self.place = place
        self._workspace, self._settings, self._journal, self._running = workspace, settings, journal, running
        self._done: list[str] = []
        self._lived = 0
        """How many of the commands done have been run in this very directory; the rest came from the journal."""
        self._written = False

    async def result(self, key: str, stage: str, command: str) -> JsonObject:
        """A command's output and exit code, from the journal or by running it."""

        async def thunk() -> Recorded:
            value = await self._run_again(command)
            return Recorded(value=value, kind="tool", stage=stage, role="target", calls=0, prompt_tokens=0,
                            completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip

        entry = await self._journal.once(key, thunk, label=f"a command of a {stage} rollout")
        self._done.append(command)
        value: JsonObject = entry.value
        return value

    async def _run_here(self, command: str) -> dict[str, JsonValue]:
        """Bring the workspace to where the conversation is, then run the command in it."""
        if not self._written:
            await asyncio.to_thread(self._workspace.write, self.place / "work")
            self._written = True
        for earlier in self._done[self._lived :]:
            await self._once(earlier)
        value = await self._once(command)
        self._lived = len(self._done) + 1
        return value

    async def _run_again(self, command: str) -> dict[str, JsonValue]:
        """Run it, and once more from the beginning in a fresh workspace where a worker is lost: the command may have
        left the old one half done. Raises `WorkerLost` when that is lost as well."""
        for _ in range(self._settings.attempts - 1):
            try:
                return await self._run_here(command)
            except WorkerLost:
                await asyncio.to_thread(shutil.rmtree, self.place, True)
                self._lived, self._written = 0, False
        return await self._run_here(command)

    async def _once(self, command: str) -> dict[str, JsonValue]:
        home = self.place / "home"
        script = f'ulimit -f {_FILE_BLOCKS} 2>/dev/null; exec /bin/sh -c "$1"'
        launch = Launch(
            ("/bin/sh", "-c", script, "sh", command),
            clean_environment(self._settings.environ, home),
            self.place / "work",
            folders=(home / "tmp",),
        )
        async with self._running:
            try:
                finished = await self._finished(launch)
            except asyncio.TimeoutError:
                return {"exit_code": None, "output": f"(stopped after {self._settings.command_seconds:g} s)"}
            except ValueError as error:  # a NUL character in the command
                return {"exit_code": None, "output": f"(not run: {error})"}
        output = (finished.stdout + finished.stderr).replace(str(self.place / "work"), SHOWN_PLACE)
        return {
            "exit_code": finished.exit_code,
            "output": shorten_middle(output.replace(str(home), "~"), LONGEST_OUTPUT),
        }

    async def _finished(self, launch: Launch) -> Finished:
        seconds, executor = float(self._settings.command_seconds), self._settings.executor
        if executor is None:
            return await asyncio.wait_for(run(launch, self.place / "streams"), seconds)
        return await run_program(executor, launch, self.place / "streams", needs=COMMAND, seconds=seconds, attempts=1)


class _Loop:
    """One attempt on its way."""

    def __init__(
        self,
        chat: ChatModel,
        task: Task,
        settings: ToolLoopSettings,
        shell: _Shell,
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
                return self._attempt(cut=truncated(self._task.sampling.max_completion_tokens), reason="length")
            if not reply.tool_calls:
                return self._attempt(text=reply.text, reason="completed")
            self._messages.append(reply.message())
            for call in reply.tool_calls:
                try:
                    self._messages.append(Message("tool", await self._called(call), tool_call_id=call.id))
                except WorkerLost as error:
                    return self._attempt(lost=str(error), reason="lost")
        return self._attempt(cut=f"out-of-turns: {self._settings.max_turns} turns without an answer", reason="turns")

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
