"""The workspace of one attempt of the tool loop, and the commands that are run in it.

Results of commands are stored. Only when a command has no result yet are the earlier ones run again, to bring the
workspace to where the conversation is. Commands run as this user, with a clean environment and a home of their own,
each in a session that is ended to its last process; they are not sandboxed beyond that.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from skillopt.agents.left_files import LeftFiles, collect
from skillopt.agents.skill_files import NO_FILES, SkillFiles
from skillopt.agents.trace import LONGEST_OUTPUT
from skillopt.agents.workspace import Delivery, Workspace
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.shorten import shorten_middle
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.model.client import CallJournal
from skillopt.store.journal import Recorded
from skillopt.work.errors import WorkerLost
from skillopt.work.executor import Executor
from skillopt.work.programs import run_program
from skillopt.work.unit import Needs

T = TypeVar("T")
COMMAND = Needs(cpu=0.25, memory_mb=64)
"""What a command occupies: most of them wait more than they work."""
SHOWN_PLACE = "/workspace"
"""What results show instead of the directory's real path, which is another one each time."""
_FILE_BLOCKS = 131_072
"""Largest file a command may write, in blocks of 512 bytes: 64 MiB."""


@dataclass(frozen=True)
class ToolLoopSettings:
    """`max_turns` bounds the model's turns for one item, `command_seconds` one command."""

    environ: Mapping[str, str] = field(repr=False)
    delivery: Delivery = "prompt"
    beside: SkillFiles = NO_FILES
    """The files of the skill's directory that go along."""
    max_turns: int = 30
    command_seconds: float = 60.0
    at_once: int = 4 * (os.cpu_count() or 1)
    """Commands that run at the same time, over all attempts."""
    executor: Executor | None = None
    """Where commands run; None: here."""
    attempts: int = 3
    """How often a command is begun whose worker is lost."""


class Shell:
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
            value = await self._again_where_lost(lambda: self._run_here(command))
            return Recorded(value=value, kind="tool", stage=stage, role="target", calls=0, prompt_tokens=0,
                            completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip

        entry = await self._journal.once(key, thunk, label=f"a command of a {stage} rollout")
        self._done.append(command)
        value: JsonObject = entry.value
        return value

    async def left(self, key: str, stage: str) -> LeftFiles:
        """What the commands left, from the journal or by bringing the workspace to its end. Raises `WorkerLost`."""
        if not self._done:
            return LeftFiles()

        async def thunk() -> Recorded:
            await self._again_where_lost(self._bring)
            found = await asyncio.to_thread(collect, self.place / "work", self._workspace.files)
            return Recorded(value=found.to_json(), kind="tool", stage=stage, role="target", calls=0, prompt_tokens=0,
                            completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip

        entry = await self._journal.once(key, thunk, label=f"the files of a {stage} rollout")
        return LeftFiles.from_json(entry.value)

    async def _bring(self) -> None:
        """Bring the workspace to where the conversation is."""
        if not self._written:
            await asyncio.to_thread(self._workspace.write, self.place / "work")
            self._written = True
        for earlier in self._done[self._lived :]:
            await self._once(earlier)
            self._lived += 1

    async def _run_here(self, command: str) -> dict[str, JsonValue]:
        await self._bring()
        value = await self._once(command)
        self._lived += 1
        return value

    async def _again_where_lost(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, and once more from the beginning in a fresh workspace where a worker is lost: the command may have
        left the old one half done. Raises `WorkerLost` when that is lost as well."""
        for _ in range(self._settings.attempts - 1):
            try:
                return await work()
            except WorkerLost:
                await asyncio.to_thread(shutil.rmtree, self.place, True)
                self._lived, self._written = 0, False
        return await work()

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
