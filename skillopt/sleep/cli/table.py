"""The commands: name, sentence, and the module that does it. A new command is one line here."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from skillopt.sleep.cli.call import Call

FlagsOf = Callable[[argparse.ArgumentParser], None]
RunOf: TypeAlias = "Callable[[Call], Awaitable[int]]"


@dataclass(frozen=True)
class Command:
    """A command's name, its line in the help, and its module below `cli.commands`."""

    name: str
    about: str
    module: str
    aliases: tuple[str, ...] = ()

    def flags(self, parser: argparse.ArgumentParser) -> None:
        """Let the command's module add its flags."""
        cast("FlagsOf", self._of("flags"))(parser)

    async def run(self, call: Call) -> int:
        """Do it; the exit code."""
        return await cast("RunOf", self._of("run"))(call)

    def _of(self, name: str) -> object:
        return getattr(importlib.import_module(f"skillopt.sleep.cli.commands.{self.module}"), name)


COMMANDS: tuple[Command, ...] = (
    Command("plan", "what a night would read, learn from and cost; spends nothing", "plan", ("dry-run",)),
    Command("harvest", "read the sessions in and show what keeps coming back", "harvest"),
    Command("run", "hold a night: learn, prove, and lay a reviewed diff on the desk", "run"),
    Command("status", "last nights, what waits for you, what is in force", "status"),
    Command("review", "a night's report, its diff, and what waits for a decision", "review"),
    Command("adopt", "apply a proposal to the live files", "adopt"),
    Command("reject", "turn a proposal or a rule down, with a reason", "reject"),
    Command("revert", "put the live files back to what they were before a night", "revert"),
    Command("schedule", "print or install a nightly job", "schedule"),
    Command("unschedule", "remove the nightly job", "unschedule"),
    Command("plugins", "what each agent program is given: its files, its MCP entry", "plugins"),
    Command("mcp", "the MCP server on stdin and stdout", "mcp"),
    Command("gc", "remove old closed nights", "gc"),
    Command("demo", "a whole night on a toy project, without a key or a network", "demo"),
)


def find(name: str) -> Command | None:
    """The command of this name or alias."""
    return next((c for c in COMMANDS if name == c.name or name in c.aliases), None)
