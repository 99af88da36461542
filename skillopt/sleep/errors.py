"""The companion's errors: each carries the exit code of the command that met it and a short name for `--json`.

Exit codes: 0 done (also: rejected, undecided, unproven, nothing to do) · 1 failure of a backend, file or staging ·
2 refusal or bad usage · 3 a handoff waits for answers · 4 stopped by a cap or the circuit breaker, resumable.
"""

from __future__ import annotations

from typing import ClassVar

from skillopt.core.errors import SkillOptError


class SleepError(SkillOptError):
    """A failure of a backend, a file or the staging."""

    exit_code: ClassVar[int] = 1
    name: ClassVar[str] = "failure"


class StateError(SleepError):
    """A file of the companion's own state cannot be read or written; nothing continues with an empty one."""

    name: ClassVar[str] = "state"


class StagingError(SleepError):
    """A staged night cannot be written, read or trusted."""

    name: ClassVar[str] = "staging"


class BackendError(SleepError):
    """A model's program or endpoint cannot be used at all."""

    name: ClassVar[str] = "backend"


class Refused(SleepError):
    """What was asked for is not done: it needs a person's word, or it is not safe."""

    exit_code: ClassVar[int] = 2
    name: ClassVar[str] = "refused"


class UsageError(Refused):
    """A flag, argument or call that makes no sense."""

    name: ClassVar[str] = "usage"


class SettingsError(Refused):
    """A configuration file, variable or flag holds an unknown key or a wrong value."""

    name: ClassVar[str] = "settings"


class TaskFileError(Refused):
    """A task file is malformed, holds a check that cannot work, or nobody has reviewed it."""

    name: ClassVar[str] = "task_file"


class Locked(Refused):
    """Another run holds this project."""

    name: ClassVar[str] = "locked"


class SelectionRequired(Refused):
    """There are several targets, and nobody said which."""

    name: ClassVar[str] = "selection_required"


class HandoffPending(SleepError):
    """Questions were written down and wait for somebody's answers."""

    exit_code: ClassVar[int] = 3
    name: ClassVar[str] = "handoff_pending"


class Stopped(SleepError):
    """A cap or the circuit breaker ended the night; running again continues it."""

    exit_code: ClassVar[int] = 4
    name: ClassVar[str] = "stopped"
