"""One call of the command line: its arguments, its surroundings, its screen.

Everything that leaves through `out`, `say` and `json` is redacted first. `out` is the answer (stdout), `say` is for the
person who waits (stderr).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.redact import redact
from skillopt.sleep.cli.flags import given_settings
from skillopt.sleep.errors import UsageError
from skillopt.sleep.settings.reading import Resolved, resolve
from skillopt.sleep.state.paths import StatePaths


@dataclass
class Call:
    """What a command is given. Tests make one with streams and a clock of their own."""

    args: argparse.Namespace
    environ: Mapping[str, str]
    cwd: Path
    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.time
    users_umask: int = 0o022
    """The umask from before the companion's own: what a new live file gets."""
    kept: list[JsonObject] | None = None
    """Where answers as JSON are kept instead of written: one call for several projects writes one object."""

    def resolved(self) -> Resolved:
        """Settings and where each came from. Raises `SettingsError`."""
        return resolve(given_settings(self.args), self.environ, self.cwd, config=self.text("config"))

    def paths(self, resolved: Resolved) -> StatePaths:
        """Where the invoked project's state lies. Raises `UsageError` where the project is no directory."""
        project = Path(resolved.settings.invoked_project)
        if not project.is_dir():
            raise UsageError(f"there is no directory {project}", hint="say --project PATH")
        return StatePaths.of(Path(resolved.settings.state_dir), project)

    @property
    def as_json(self) -> bool:
        """Whether the answer goes to a program."""
        return bool(getattr(self.args, "json", False))

    def text(self, name: str) -> str:
        """A flag that is a text; blank where it was not given or the command has none."""
        value: object = getattr(self.args, name, None)
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A flag that may be repeated."""
        value: object = getattr(self.args, name, None)
        return tuple(str(part) for part in value) if isinstance(value, (list, tuple)) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    def path(self, name: str) -> Path:
        """A flag that names a file, seen from the caller's directory."""
        return self.cwd / Path(self.text(name)).expanduser()

    def on(self, name: str) -> bool:
        """A switch."""
        return bool(getattr(self.args, name, False))

    def out(self, line: str = "") -> None:
        """A line of the answer."""
        self.stdout.write(redact(line) + "\n")

    def say(self, line: str) -> None:
        """A line for the person who waits."""
        self.stderr.write(redact(line) + "\n")

    def json(self, answer: JsonObject) -> None:
        """The answer as one JSON object."""
        if self.kept is not None:
            self.kept.append(answer)
            return
        self.stdout.write(json.dumps(_redacted(answer), ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def _redacted(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(name): _redacted(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(member) for member in value]
    return value
