"""What is asked of an agent CLI, and what each CLI's module answers.

A module knows its program: `launch` turns a job into a command line, environment and files (pure, so that tests read
exactly what would run), `read` turns what it left into a `HarnessRun`. `identity` names whatever of the options can
change the answer. No endpoint, key or path is part of it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.environment import clean_environment
from skillopt.harnesses.harness_run import HarnessRun
from skillopt.harnesses.launch import Finished, Launch

ARGUMENT_LIMIT = 100_000
"""Longest prompt, in bytes, for programs that take it as an argument only (Linux allows 128 KiB for one)."""

DUMMY_KEY = "unused"
"""For endpoints of one's own that ask for no key: most programs refuse to start without one."""

_FOLDERS: Mapping[str, str] = {".codex": "CODEX_HOME", ".claude": "CLAUDE_CONFIG_DIR", ".copilot": "COPILOT_HOME"}
"""Variables by which a program's folder can lie elsewhere than in the home."""


@dataclass(frozen=True)
class Endpoint:
    """A model server of one's own. `base_url` is given as for OpenAI clients, up to and including `/v1`."""

    base_url: str
    api_key: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """The key, or a stand-in."""
        return self.api_key or DUMMY_KEY

    @property
    def root(self) -> str:
        """The URL without `/v1`, for programs that add it themselves."""
        return re.sub(r"/v1/?$", "", self.base_url.rstrip("/"))

    @property
    def v1(self) -> str:
        """The URL with `/v1`."""
        return f"{self.root}/v1"


@dataclass(frozen=True)
class Job:
    """One run. `home` is the run's own, `workspace` the directory the agent works in, both existing.

    `endpoint` None means the vendor's own service: with `api_key`, or by the login files of `login` (a directory that
    holds them, normally the user's), which are linked into the home one by one; nothing else of it is visible.
    `images` are files for the first message, where the program takes any.
    """

    executable: str
    prompt: str
    workspace: Path
    home: Path
    environ: Mapping[str, str] = field(repr=False)
    model: str = ""
    endpoint: Endpoint | None = None
    api_key: str = field(default="", repr=False)
    login: Path | None = None
    cache: Path | None = None
    images: tuple[Path, ...] = ()

    @property
    def base_env(self) -> dict[str, str]:
        """The clean environment to which a program's own variables are added."""
        return clean_environment(self.environ, self.home)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that every program needs."""
        return (self.home / "tmp",)


class Cli(Protocol):
    """One agent CLI."""

    @property
    def name(self) -> str:
        """Name for people and for keys, for example `codex`."""
        ...

    @property
    def program(self) -> str:
        """Name of the executable on PATH."""
        ...

    @property
    def skill_folders(self) -> tuple[str, ...]:
        """Folders of the workspace in which the program looks for skills, in its own order."""
        ...

    @property
    def login_files(self) -> tuple[str, ...]:
        """Files of a login, relative to the user's home and to the run's home alike."""
        ...

    def can_sign_in(self, job: Job, files: Sequence[Path]) -> bool:
        """Whether the program, given neither endpoint nor key, may sign in with what there is of its login's `files`.
        True where only the program itself knows; it then has to say so soon."""
        ...

    def identity(self) -> JsonObject:
        """What of the options can change an answer."""
        ...

    def launch(self, job: Job) -> Launch:
        """The command. Raises `ValueError` for a job the program cannot take (a prompt too long for an argument)."""
        ...

    def read(self, job: Job, finished: Finished) -> HarnessRun:
        """What came of it. Raises nothing: what cannot be read is a failure of the session."""
        ...


def find_program(given: str, name: str, environ: Mapping[str, str]) -> str | None:
    """The executable as an absolute path: the given path or name, else `name`, looked up on the PATH of `environ`."""
    found = shutil.which(given or name, path=environ.get("PATH"))
    return os.path.abspath(found) if found else None


def version_in(text: str) -> str:
    """The version in what `--version` printed; the whole first line when there is no number in it."""
    found = re.search(r"\d+\.\d+(?:\.\d+)?(?:[-.][0-9A-Za-z.]+)?", text)
    return found.group(0) if found else text.strip().split("\n")[0][:60]


def as_argument(prompt: str, program: str) -> str:
    """A prompt that has to be an argument. Raises `ValueError` when it is too long or begins like an option."""
    if len(prompt.encode("utf-8", "replace")) > ARGUMENT_LIMIT:
        raise ValueError(f"{program} takes its prompt as an argument of at most {ARGUMENT_LIMIT} bytes")
    if "\0" in prompt:
        raise ValueError(f"{program} takes its prompt as an argument, and this one holds a NUL character")
    return f" {prompt}" if prompt.startswith("-") else prompt


def link_login(job: Job, cli: Cli) -> str:
    """Let the program find its own login in the run's home: links to the files, so that a renewed token is kept.

    Returns why it cannot sign in, "" where it can or where only the program itself knows."""
    sources = {name: _login_file(job, name) for name in cli.login_files} if job.login is not None else {}
    for name, source in sources.items():
        target = job.home / name
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
    there = [source for source in sources.values() if source.is_file()]
    if job.endpoint is not None or job.api_key or cli.can_sign_in(job, there):
        return ""
    if there:
        return f"{cli.program} has no login for the model {job.model!r} in {there[0]}"
    places = " or ".join(str(source) for source in sources.values())
    return f"{cli.program} has no login: there is no {places}" if places else f"{cli.program} was given no key"


def link_own_login(names: Sequence[str], home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Let a program whose home is `home` find the login of this machine's user: links to the files that there are."""
    linked: list[Path] = []
    for name in names:
        source, target = own_file(name, environ), home / name
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            linked.append(target)
    return linked


def own_file(name: str, environ: Mapping[str, str]) -> Path:
    """Where the user's file is: in the folder that the program's own variable names, else in the home."""
    folder, _, rest = name.partition("/")
    named = environ.get(_FOLDERS.get(folder, ""), "")
    return Path(named) / rest if named else Path(environ.get("HOME") or Path.home()) / name


def _login_file(job: Job, name: str) -> Path:
    own = job.login is not None and str(job.login) == job.environ.get("HOME")
    return own_file(name, job.environ) if own else (job.login or Path()) / name
