"""One scheduled night: its options, frozen into a file, and the short command that runs it.

Nothing of the command line is lost on the way: every setting that was not the default stands in the file, with absolute
paths of the program and of the agent CLIs, because a job has no login shell's PATH.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import unicodedata
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.harnesses.job import find_program
from skillopt.sleep.errors import Refused, UsageError
from skillopt.sleep.settings.reading import Resolved
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.private import make_directory, write_text

HOUR, MINUTE, JITTER = 3, 17, 10
_PROGRAMS = {"claude_path": "claude", "codex_path": "codex", "copilot_path": "copilot"}


@dataclass(frozen=True)
class Job:
    """A schedule of one project. `command` is the program's argv, all paths absolute."""

    id: str
    project: Path
    options: Path
    log: Path
    hour: int
    minute: int
    command: tuple[str, ...]
    frozen: str
    """The text of the options' file."""

    @property
    def project_hash(self) -> str:
        """SHA-256 of the project's path: how its line is found again."""
        return sha256(str(self.project).encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def shell(self) -> str:
        """The command for a shell, its output in the log."""
        return f"{shlex.join(self.command)} >> {shlex.quote(str(self.log))} 2>&1"

    def write(self) -> None:
        """Freeze the options. The log's directory is made, too."""
        write_text(self.options, self.frozen)
        make_directory(self.log.parent)


def job_of(
    resolved: Resolved, paths: StatePaths, environ: Mapping[str, str], *, hour: str, minute: str, argv0: str
) -> Job:
    """The job of a project with the settings of this command line. Raises `UsageError`, `Refused`."""
    options = options_path(paths)
    name = options.stem
    values: dict[str, JsonValue] = {}
    for field in fields(resolved.settings):
        if resolved.origins.get(field.name, "default") != "default":
            value: object = getattr(resolved.settings, field.name)
            values[field.name] = list(value) if isinstance(value, tuple) else value  # pyright: ignore
    values |= {"invoked_project": str(paths.project), "state_dir": str(paths.root)}
    for key, program in _PROGRAMS.items():
        found = find_program(str(values.get(key) or ""), program, environ)
        if found:
            values[key] = found
    command = (*this_program(argv0), "run", "--config", str(options), "--yes", "--scheduled")
    log = paths.logs / f"{name}.log"
    for text in (*command, str(log), str(paths.project)):
        if any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
            raise Refused(f"{text!r} holds control characters; no schedule is made of it")
    return Job(
        id=name,
        project=paths.project,
        options=options,
        log=log,
        hour=_number(hour, "--hour", 23, HOUR),
        minute=_number(minute, "--minute", 59, MINUTE + uuid.getnode() % JITTER),
        command=command,
        frozen=json.dumps(values, ensure_ascii=False, indent=2) + "\n",
    )


def options_path(paths: StatePaths) -> Path:
    """Where a project's frozen options lie; a file there means that it is scheduled."""
    return paths.schedules / f"{sha256(str(paths.project).encode('utf-8', 'surrogateescape')).hexdigest()[:20]}.json"


def this_program(argv0: str) -> tuple[str, ...]:
    """How this program was started, absolutely."""
    path = Path(argv0)
    if path.suffix == ".pyz" and path.is_file():
        return sys.executable, str(path.resolve())
    if path.name.startswith("skillopt-sleep") and path.is_file() and os.access(path, os.X_OK):
        return (str(path.absolute()),)
    return sys.executable, "-m", "skillopt.sleep"


def _number(text: str, flag: str, most: int, default: int) -> int:
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) > most:
        raise UsageError(f"{flag} {text!r} is no whole number from 0 to {most}")
    return int(text)
