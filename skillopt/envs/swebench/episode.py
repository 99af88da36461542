"""Episodes of SWEBench: a repository in which a target acts until it hands in a patch.

`ContainerEpisode` runs shell commands in the instance's image, as mini-swe-agent does. `SandboxEpisode` runs Python
programs confined to a copy of the repository: no container, no shell, another protocol than the published one. What
differs from run to run in what a command says (durations, addresses) is blanked, because an episode that is played
again must answer the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt.agents.left_files import collect
from skillopt.core.item import Item
from skillopt.core.json_types import as_text
from skillopt.core.shorten import shorten_middle
from skillopt.envs.episodes import Reset, Step
from skillopt.envs.fences import fenced
from skillopt.envs.swebench import mini as minis
from skillopt.envs.swebench.dataloader import files_in
from skillopt.envs.swebench.patch import diff
from skillopt.envs.swebench.work import write_files
from skillopt.envs.workbench import Workbench
from skillopt.work.confinement.sandbox import Limits

SUBMIT = "SUBMIT"
LIMITS = "LimitsExceeded"
_PROGRAM = ".action.py"
_APART = ("__pycache__", "tests", "test")
_MOST_OUTPUT = 10_000
_TIMES = re.compile(r"\b\d+\.\d+ ?(s|ms|sec|secs|seconds)\b")
_ADDRESSES = re.compile(r"\b0x[0-9a-f]{6,}\b")
_GONE = re.compile(r"^(Error response from daemon|Cannot connect to the Docker daemon|Error: No such container)", re.M)


@dataclass(frozen=True)
class Bounds:
    """What one command may take."""

    seconds: float = 60.0
    memory_mb: int = 1024


def steady(text: str) -> str:
    """Without what differs from run to run.

    >>> steady("1 passed in 0.31s, <object at 0x7f00aa12>")
    '1 passed in ?s, <object at 0x?>'
    """
    return _ADDRESSES.sub("0x?", _TIMES.sub(r"?\1", text))


def handed_in(patch: str, status: Literal["Submitted"] = "Submitted") -> Step:
    """The end of an episode."""
    return Step("", done=True, info={"submission": patch, "exit_status": status})


class ContainerEpisode:
    """An episode in the image of an instance. What the container's engine does wrong is raised."""

    def __init__(self, item: Item, bounds: Bounds) -> None:
        self._item, self._bounds = item, bounds
        self._container: minis.Container | None = None

    def reset(self, seed: int) -> Reset:
        """Start the container, which pulls its image."""
        self._container = minis.opened(as_text(self._item.data["image"]), self._bounds.seconds)
        return Reset("")

    def step(self, action: str) -> Step:
        """Run the one command of a reply, or say what was wrong with its form."""
        commands = minis.actions_in(action)
        if len(commands) != 1:
            said = f"Expected exactly 1 action, found {len(commands)}."
            return Step(minis.mini().format_error.render({"actions": commands, "error": said}))
        assert self._container is not None
        try:
            output = self._container.execute({"command": commands[0]})
        except Exception as error:  # the library hands in by raising
            patch = minis.submission_in(error)
            if patch is None:
                raise
            return handed_in(patch)
        said = as_text(output.get("output"))
        if output.get("returncode") and _GONE.search(said):
            raise OSError(f"the container is gone: {said.strip().splitlines()[0]}")
        name = self._container.container_id or ""
        cleaned = {
            key: steady(value.replace(name, "container")) if isinstance(value, str) and name else value
            for key, value in output.items()
            if key in ("output", "returncode", "exception_info")
        }
        return Step(minis.mini().observation.render({"output": cleaned}))

    def close(self) -> None:
        """Stop the container."""
        if self._container is not None:
            self._container.cleanup()


class SandboxEpisode:
    """An episode in a copy of the repository, whose actions are Python programs; a line SUBMIT hands in what is
    changed then."""

    def __init__(self, item: Item, bounds: Bounds) -> None:
        self._before, self._bounds = files_in(item.data["files"]), bounds
        self._bench: Workbench | None = None

    async def reset(self, seed: int) -> Reset:
        """The repository, and the names of its files."""
        self._bench = Workbench("skillopt-swe-")
        await asyncio.to_thread(write_files, self._bench.folder, self._before)
        return Reset("Files of the repository:\n" + "\n".join(sorted(self._before)))

    async def step(self, action: str) -> Step:
        """Run the program of a reply, then hand in where the reply says so."""
        program, submits = fenced(action), any(line.strip() == SUBMIT for line in action.splitlines())
        if program is None and not submits:
            return Step(f"There is neither a fenced Python program in this reply nor a line {SUBMIT}.")
        said = await self._run(program) if program is not None else ""
        return handed_in(await asyncio.to_thread(self._patch)) if submits else Step(said)

    async def close(self) -> None:
        """Remove the copy."""
        if self._bench is not None:
            self._bench.close()

    @property
    def _open(self) -> Workbench:
        assert self._bench is not None
        return self._bench

    async def _run(self, program: str) -> str:
        path = self._open.folder / _PROGRAM
        path.write_text(program, encoding="utf-8", errors="replace")
        limits = Limits(self._bounds.seconds, self._bounds.memory_mb)
        try:
            ended = await self._open.launched((_PROGRAM,), limits, guarded=False)
        except asyncio.TimeoutError:
            return f"(stopped after {self._bounds.seconds:g} s)"
        finally:
            path.unlink(missing_ok=True)
        said = shorten_middle(self._open.cleaned(ended.stdout + ended.stderr), _MOST_OUTPUT) or "(no output)"
        return steady(said + (f"\n(exit code {ended.exit_code})" if ended.exit_code else ""))

    def _patch(self) -> str:
        before = {name: text.encode() for name, text in self._before.items()}
        gone = [name for name in before if not (self._open.folder / name).is_file()]
        return changes(self._before, collect(self._open.folder, before).files, gone)


def changes(before: Mapping[str, str], left: Mapping[str, bytes], gone: Sequence[str] = ()) -> str:
    """The patch of what was left: text files that were changed, added or removed, but no test, no cache, nothing
    hidden."""
    after = {name: text for name, text in before.items() if name not in gone or _apart(name)}
    for name, content in left.items():
        if not _apart(name):
            with contextlib.suppress(UnicodeDecodeError):
                after[name] = content.decode("utf-8")
    return diff(before, after)


def _apart(name: str) -> bool:
    return any(part.startswith(".") or part in _APART for part in name.split("/"))
