"""From an exception to one line and an exit code.

0 done (also when patience or a budget ended the run), 1 stopped by a fault (dead endpoint), 2 something the user can
correct, 130 interrupted. A traceback is shown for our own faults only.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

import typer

from skillopt.cli.console import Screen, silence
from skillopt.core.errors import ModelError, SkillOptError, StopRun
from skillopt.core.redact import environment_secrets, redact

_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})
"""Faults of the user's disk or permissions: one line, no traceback."""

DONE, STOPPED, USER, INTERRUPTED = 0, 1, 2, 130


def one_line(error: BaseException) -> str:
    """Message and hint on one line, secrets masked."""
    return redact(" ".join(str(error).split()), environment_secrets(os.environ))


def report(error: BaseException) -> int:
    """Print `error: …` on stderr and return the exit code."""
    Screen(sys.stderr).line(f"error: {one_line(error)}")
    return STOPPED if isinstance(error, (StopRun, ModelError)) else USER


def guarded(action: Callable[[], int]) -> int:
    """Run a command's body. Our own faults go through with their traceback."""
    try:
        return action()
    except SkillOptError as error:
        return report(error)
    except KeyboardInterrupt:
        Screen(sys.stderr).line("stopped; run the same command again to continue")
        return INTERRUPTED
    except BrokenPipeError:
        silence(sys.stdout)
        return STOPPED
    except OSError as error:
        if error.errno not in _MACHINE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        Screen(sys.stderr).line(f"error: {where}{error.strerror}. Free space or fix permissions, then run again")
        return USER


def run(action: Callable[[], int]) -> None:
    """The body of a typer command: guarded, its result becomes the exit code."""
    raise typer.Exit(guarded(action))
