"""Which working directories belong to a project: the project itself and what lies below it, on real paths.

The parent does not match, so a session in the home directory belongs to no project below it. A git worktree matches
through its common git directory, read from its files; no program is started.
"""

from __future__ import annotations

import os
from pathlib import Path


class ProjectMatcher:
    """Tells for a working directory whether it belongs to one project. Answers are remembered."""

    def __init__(self, project: Path) -> None:
        self.project = os.path.realpath(project)
        self._below = self.project.rstrip(os.sep) + os.sep
        self._git = _common_git(self.project) if _is_top(self.project) else ""
        self._known: dict[str, bool] = {}

    def __call__(self, directory: str) -> bool:
        """Whether sessions started in `directory` are this project's; a blank or relative one never is."""
        if directory not in self._known:
            self._known[directory] = self._matches(directory)
        return self._known[directory]

    def _matches(self, directory: str) -> bool:
        if not directory or "\0" in directory or not os.path.isabs(directory):
            return False
        real = os.path.realpath(directory)
        if real == self.project or real.startswith(self._below):
            return True
        return bool(self._git) and _common_git(real) == self._git


def _is_top(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, ".git"))


def _common_git(directory: str) -> str:
    """The git directory that all worktrees of the repository around `directory` share; "" for none."""
    for place in (directory, *(str(parent) for parent in Path(directory).parents)):
        marker = os.path.join(place, ".git")
        if os.path.isdir(marker):
            return os.path.realpath(marker)
        if os.path.isfile(marker):
            return _linked(place, marker)
    return ""


def _linked(place: str, marker: str) -> str:
    own = _line(marker)
    if not own.startswith("gitdir:"):
        return ""
    private = os.path.join(place, own[len("gitdir:") :].strip())
    common = _line(os.path.join(private, "commondir"))
    return os.path.realpath(os.path.join(private, common)) if common else os.path.realpath(private)


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline(4_096).strip()
    except OSError:
        return ""
