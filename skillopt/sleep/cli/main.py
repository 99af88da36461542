"""The way in: reads the arguments, runs one command, turns its errors into a line and an exit code.

Only the module of the command that was asked for is loaded, and what a run needs only when there is one, so that the
help answers at once. An error a user can cause
is one line on stderr (with `--json` an object on stdout); a traceback is a fault of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from skillopt.core.errors import SkillOptError
from skillopt.core.process import prepare_process
from skillopt.sleep.cli.table import COMMANDS, Command, find
from skillopt.sleep.errors import SleepError, UsageError

if TYPE_CHECKING:
    from skillopt.sleep.cli.call import Call

ABOUT = "Learns at night from the sessions you had with a coding agent, and proves it before you see it."


class _Parser(argparse.ArgumentParser):
    """Bad usage as our own error: one line, exit 2."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")


_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})
_TO_DO = "free space or fix permissions, then run again"
"""Faults of the user's disk or permissions, which no traceback explains, and what helps."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. Without `argv` it is the process's own command line."""
    if argv is None:
        prepare_process()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        args, command = parse(arguments)
    except SleepError as fault:
        return _told(fault, as_json="--json" in arguments, stdout=sys.stdout, stderr=sys.stderr)
    from skillopt.sleep.cli.call import Call
    from skillopt.sleep.state.private import private_umask

    with private_umask() as users_umask:
        call = Call(args, os.environ, Path.cwd(), users_umask=users_umask)
        return run(command, call)


def run(command: Command, call: Call) -> int:
    """Run a command for a call, its errors told; the exit code."""
    import asyncio

    try:
        code = asyncio.run(command.run(call))
        call.stdout.flush()
        return code
    except SkillOptError as fault:
        return _told(fault, as_json=call.as_json, stdout=call.stdout, stderr=call.stderr, call=call)
    except KeyboardInterrupt:
        call.say("interrupted; the same command continues")
        return 4
    except BrokenPipeError:
        # Whoever read the answer has seen enough; the interpreter's own flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as fault:
        if fault.errno not in _MACHINE:
            raise
        with contextlib.suppress(OSError):
            call.say(f"skillopt-sleep: {f'{fault.filename}: ' if fault.filename else ''}{fault.strerror}: {_TO_DO}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the answer went may be what is full
        return 1


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, Command]:
    """The arguments and the command they name. Raises `UsageError`; `--help` prints and exits."""
    named = next((word for word in argv if not word.startswith("-")), "")
    command = find(named)
    parser = _Parser(prog="skillopt-sleep", description=ABOUT, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"skillopt-sleep {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for entry in COMMANDS:
        sub = commands.add_parser(entry.name, aliases=list(entry.aliases), help=entry.about, description=entry.about)
        sub.allow_abbrev = False
        if entry is command:
            entry.flags(sub)
    if not named and not {"-h", "--help", "--version"} & set(argv):
        raise UsageError("no command given", hint="see skillopt-sleep --help")
    args = parser.parse_args(argv)
    if command is None:
        raise UsageError("no command given", hint="see skillopt-sleep --help")
    return args, command


def _version() -> str:
    """The package's version; its root is above this floor, so it is asked for and not imported from."""
    return str(sys.modules["skillopt"].__dict__["__version__"])


def _told(fault: SkillOptError, *, as_json: bool, stdout: TextIO, stderr: TextIO, call: Call | None = None) -> int:
    from skillopt.core.redact import redact
    from skillopt.sleep.cli.call import Call

    if as_json and call is not None:
        call.json({"ok": False, "error": getattr(fault, "name", "failure"), "message": str(fault)})
    elif as_json:
        Call(argparse.Namespace(), {}, Path(), stdout=stdout, stderr=stderr).json(
            {"ok": False, "error": getattr(fault, "name", "failure"), "message": str(fault)}
        )
    else:
        stderr.write(redact(f"skillopt-sleep: {fault}") + "\n")
    return fault.exit_code if isinstance(fault, SleepError) else 1
