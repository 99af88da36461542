"""Where a skill package goes: the folders in which each agent program looks for skills, a directory, or an archive.

An agent's project folder is the one that is its own, or the shared `.agents/skills` where it has none. `reads` are all
folders of a project in which the program was seen to find a skill; a second package of one name there is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.core.errors import DataError

Scope = Literal["project", "user"]
ARCHIVES = (".zip", ".skill")
STATE = ".skillopt"
"""Folder with backups and receipts; it stands beside the skills folder, where no agent looks."""


@dataclass(frozen=True)
class Agent:
    """An agent program's folders. `home` is its own directory in the user's, which `home_variable` may move."""

    name: str
    title: str
    project: str
    reads: tuple[str, ...]
    home: str
    home_variable: str = ""
    variable_holds: str = ""
    """What lies between the variable's directory and `skills`."""

    def user_folder(self, environ: Mapping[str, str], home: Path) -> Path:
        """The skills folder of the user."""
        moved = environ.get(self.home_variable, "") if self.home_variable else ""
        return Path(moved) / self.variable_holds / "skills" if moved else home / self.home / "skills"


_SHARED = ".agents/skills"
AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent("claude", "Claude Code", ".claude/skills", (".claude/skills",), ".claude", "CLAUDE_CONFIG_DIR"),
        Agent("codex", "Codex", _SHARED, (_SHARED, ".codex/skills"), ".codex", "CODEX_HOME"),
        Agent(
            "copilot", "Copilot", ".github/skills", (".github/skills", _SHARED, ".claude/skills"), ".copilot",
            "COPILOT_HOME",
        ),
        Agent(
            "cursor", "Cursor", ".cursor/skills", (".cursor/skills", _SHARED, ".claude/skills", ".codex/skills"),
            ".cursor",
        ),
        Agent("gemini", "Gemini CLI", ".gemini/skills", (".gemini/skills", _SHARED), ".gemini"),
        Agent(
            "opencode", "opencode", ".opencode/skills", (".opencode/skills", _SHARED, ".claude/skills"),
            ".config/opencode", "XDG_CONFIG_HOME", "opencode",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where packages go. `root` is the directory that holds the state; `folder` the one that receives
    `<name>/SKILL.md`, relative to it. With `archive` the package is one file of that name (blank: `<name>.zip`)."""

    label: str
    root: Path
    folder: str = ""
    archive: str | None = None
    others: tuple[Path, ...] = ()
    """Further folders in which the same program looks."""

    @property
    def state(self) -> Path:
        """Receipts and backups."""
        return self.root / STATE

    def package(self, name: str) -> str:
        """The package's directory, or the archive, relative to `root`."""
        if self.archive is not None:
            return self.archive or f"{name}.zip"
        return f"{self.folder}/{name}" if self.folder else name


def find_place(to: str, *, scope: Scope, project: Path, environ: Mapping[str, str], home: Path) -> Place:
    """What `--to` means: an agent, `zip`, an archive's path, or a directory. Raises `DataError` for an unknown word."""
    agent = AGENTS.get(to)
    if agent is not None:
        return _of_agent(agent, scope, project, environ, home)
    if scope == "user":
        raise DataError(f"--scope user is for agents; {to} is none", hint=f"the agents are {', '.join(AGENTS)}")
    if to == "zip":
        return Place("an archive", project, archive="")
    path = Path(to).expanduser()
    if path.suffix.lower() in ARCHIVES:
        path = project / path
        return Place(f"the archive {path}", path.parent, archive=path.name)
    if path.name == to and not (project / path).is_dir() and to not in (".", ".."):
        raise DataError(
            f"--to {to}: neither an agent nor a directory",
            hint=f"write one of {', '.join(AGENTS)}, zip, or ./{to} for a new directory",
        )
    return Place(f"the directory {project / path}", project / path)


def _of_agent(agent: Agent, scope: Scope, project: Path, environ: Mapping[str, str], home: Path) -> Place:
    user = scope == "user"
    skills = agent.user_folder(environ, home) if user else project / agent.project
    others = () if user else tuple(project / each for each in agent.reads if each != agent.project)
    label = f"{agent.title}, for this user" if user else f"{agent.title}, in {project.resolve()}"
    if skills.is_symlink():  # the folder is kept elsewhere, and so are its backups
        skills = skills.resolve()
    return Place(label, skills.parent, skills.name, others=others)
