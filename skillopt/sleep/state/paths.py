"""Every path of the companion's state, once. Making these objects touches no file but to resolve the project's path.

State is per project and lies in the user's home; only `staging/` and `handoff/` lie inside the project, behind a
`.gitignore` that is written before anything else.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.sleep.state.private import make_directory, write_text

IN_PROJECT = ".skillopt-sleep"
HOME_VARIABLE = "SKILLOPT_SLEEP_HOME"
_NIGHT = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


def state_root(environ: Mapping[str, str], flag: str = "") -> Path:
    """`--state-dir`, else the variable, else `~/.skillopt-sleep`."""
    return Path(flag or environ.get(HOME_VARIABLE) or "~/.skillopt-sleep").expanduser()


def new_night_id(now: float | None = None) -> str:
    """UTC time plus four random digits: `20260815T013000Z-ab12`."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)) + "-" + secrets.token_hex(2)


def is_night_id(text: str) -> bool:
    """Whether `text` can name a night, and so a directory."""
    return _NIGHT.fullmatch(text) is not None


def project_id(real_path: Path) -> str:
    """`<name>-<12 hex of sha256(real path)>`; the name is cut to what every file system takes."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", real_path.name).strip(".-")[:40] or "root"
    return f"{name}-{hashlib.sha256(str(real_path).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


@dataclass(frozen=True)
class NightPaths:
    """One night's private files: text from transcripts stays here, outside the repository."""

    root: Path

    @property
    def journal(self) -> Path:
        """Every paid call."""
        return self.root / "journal.sqlite"

    @property
    def result(self) -> Path:
        """What the night came to; there is one when it is over, abandoned nights included."""
        return self.root / "result.json"

    @property
    def evidence(self) -> Path:
        """What happened, append-only, redacted."""
        return self.root / "evidence.jsonl"

    @property
    def diagnostics(self) -> Path:
        """Scores, counts and errors."""
        return self.root / "diagnostics.json"


@dataclass(frozen=True)
class StatePaths:
    """Where everything of one project lies. Make it with `StatePaths.of(root, project)`."""

    root: Path
    project: Path
    """Real path."""

    @classmethod
    def of(cls, root: Path, project: Path) -> StatePaths:
        """Paths of the project at `project`, symlinks resolved."""
        return cls(root, project.resolve())

    @property
    def config(self) -> Path:
        """Made by the user."""
        return self.root / "config.json"

    @property
    def prompts(self) -> Path:
        """Made by the user."""
        return self.root / "prompts"

    @property
    def schedules(self) -> Path:
        """Frozen options, one file a schedule."""
        return self.root / "schedules"

    @property
    def logs(self) -> Path:
        """One log a schedule."""
        return self.root / "logs"

    @property
    def home(self) -> Path:
        """This project's directory in the state."""
        return self.root / "projects" / project_id(self.project)

    @property
    def project_json(self) -> Path:
        """Real path, remotes seen, when it was made."""
        return self.home / "project.json"

    @property
    def digests(self) -> Path:
        """Digests, file positions, clusters, ledger of tasks and rules."""
        return self.home / "digests.sqlite"

    @property
    def lock(self) -> Path:
        """Held by the operating system for the life of a run."""
        return self.home / "lock"

    @property
    def nights(self) -> Path:
        """One directory a night."""
        return self.home / "nights"

    def night(self, night_id: str) -> NightPaths:
        """The private files of one night."""
        return NightPaths(self.nights / night_id)

    @property
    def in_project(self) -> Path:
        """The companion's only directory inside the project."""
        return self.project / IN_PROJECT

    @property
    def gitignore(self) -> Path:
        """`*`, written first."""
        return self.in_project / ".gitignore"

    @property
    def staging(self) -> Path:
        """Staged nights."""
        return self.in_project / "staging"

    @property
    def latest(self) -> Path:
        """One line: the newest staged night."""
        return self.staging / ".latest"

    @property
    def handoff(self) -> Path:
        """Questions that wait for somebody's answers."""
        return self.in_project / "handoff"

    def make_home(self) -> None:
        """The project's directory in the state, 0700."""
        make_directory(self.home)

    def make_in_project(self) -> None:
        """The directory inside the project, its `.gitignore` before anything else."""
        make_directory(self.in_project)
        if not self.gitignore.is_file():
            write_text(self.gitignore, "*\n")
