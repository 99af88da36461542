"""What is exported: a run's best skill, one text of a run, a skill file, or a directory with a SKILL.md and its files.

Hidden files, links and caches of a directory stay behind, and so does what an earlier export wrote about itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import DataError, RunDirError
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import read_skill
from skillopt.explain.skill_ref import named_skill
from skillopt.records.reading import Run, open_run

SKILL_FILE = "SKILL.md"
PROVENANCE = "provenance.json"
MOST_FILES, MOST_BYTES = 500, 20_000_000
_NOT_SHIPPED = {"__pycache__", "node_modules"}


@dataclass(frozen=True)
class File:
    """A file of a package; `executable` is all that is kept of its mode."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Source:
    """A skill that was asked for, with the files beside it and the run that made it, if there is one."""

    name: str
    skill: Skill
    run: Run | None = None
    files: Mapping[str, File] = field(default_factory=dict[str, File])
    left_out: tuple[str, ...] = ()


def find_source(asked: str) -> Source:
    """Find what is to be exported. Raises `DataError` or `RunDirError`, one line."""
    path = Path(asked)
    if path.is_dir() and not _is_run(path):
        if not (path / SKILL_FILE).is_file():
            raise DataError(
                f"{asked} holds neither a run nor a {SKILL_FILE}", hint="name a run, a skill file or a skill"
            )
        files, left_out = package_files(path)
        return Source(asked, read_skill(path / SKILL_FILE), None, files, left_out)
    found = named_skill(asked)
    files, left_out = _beside_initial(found.run)
    return Source(found.name, found.skill, found.run, files, left_out)


def _beside_initial(run: Run | None) -> tuple[dict[str, File], tuple[str, ...]]:
    """The files of the skill that a run started from, where that was a directory's SKILL.md and still is there."""
    start = Path(str(run.config.get("skill_init") or "")) if run is not None else Path()
    if start.is_dir():
        start = start / SKILL_FILE
    return package_files(start.parent) if start.name == SKILL_FILE and start.is_file() else ({}, ())


def package_files(directory: Path) -> tuple[dict[str, File], tuple[str, ...]]:
    """The files of a skill's directory besides its SKILL.md, and the names of those that stay behind. Raises
    `DataError` for a directory that is no skill's by its size."""
    files: dict[str, File] = {}
    left_out: list[str] = []
    size = 0
    for place, folders, names in os.walk(directory):
        hidden = [
            f for f in folders if f.startswith(".") or f in _NOT_SHIPPED or os.path.islink(os.path.join(place, f))
        ]
        folders[:] = sorted(set(folders) - set(hidden))
        left_out += [_relative(directory, place, f) + "/" for f in hidden if f not in _NOT_SHIPPED]
        for name in sorted(names):
            path, relative = Path(place, name), _relative(directory, place, name)
            if relative in (SKILL_FILE, PROVENANCE):
                continue
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                left_out.append(relative)
                continue
            size += path.stat().st_size
            if size > MOST_BYTES or len(files) >= MOST_FILES:
                raise DataError(
                    f"{directory} holds more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB",
                    hint="name the directory of one skill",
                )
            files[relative] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return files, tuple(left_out)


def _relative(directory: Path, place: str, name: str) -> str:
    return Path(place, name).relative_to(directory).as_posix()


def _is_run(path: Path) -> bool:
    try:
        return open_run(path).root.resolve() == path.resolve()
    except RunDirError:
        return False
