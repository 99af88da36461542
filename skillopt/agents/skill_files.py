"""The files of a skill's directory besides its SKILL.md: what an agent may read and run, and a package takes along.

Names are UTF-8, and distinct in any case. Hidden files, links and caches stay behind, and so does what an export wrote
about itself. The files are not trained: they go to the agent as they are, and their bytes are part of every answer's
key.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.core.hashing import digest, text_digest

SKILL_FILE = "SKILL.md"
PROVENANCE = "provenance.json"
MOST_FILES, MOST_BYTES = 500, 20_000_000
_NOT_SHIPPED = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True)
class File:
    """A file of a package; `executable` is all that is kept of its mode."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class SkillFiles:
    """Paths relative to the skill's directory. `left_out` are those that stay behind."""

    files: Mapping[str, File] = field(default_factory=dict[str, File])
    left_out: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Identity of the files; blank without any."""
        rows = {name: [text_digest(f.content.decode("latin-1")), f.executable] for name, f in self.files.items()}
        return digest(rows) if rows else ""


NO_FILES = SkillFiles()


def read_skill_files(directory: Path) -> SkillFiles:
    """Read them. Raises `DataError` for a directory that is no skill's by its size."""
    files: dict[str, File] = {}
    left_out: list[str] = []
    size = 0
    for place, folders, names in os.walk(directory):
        hidden = [f for f in folders if f.startswith(".") or f in _NOT_SHIPPED or Path(place, f).is_symlink()]
        folders[:] = sorted(set(folders) - set(hidden))
        left_out += [_relative(directory, place, f) + "/" for f in hidden if f not in _NOT_SHIPPED]
        for name in sorted(names):
            path, relative = Path(place, name), _relative(directory, place, name)
            if relative in (SKILL_FILE, PROVENANCE):
                continue
            if name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
                left_out.append(relative)
                continue
            _refuse_name(directory, relative, files)
            size += path.stat().st_size
            if size > MOST_BYTES or len(files) >= MOST_FILES:
                raise DataError(
                    f"{directory} holds more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB",
                    hint="name the directory of one skill",
                )
            files[relative] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return SkillFiles(files, tuple(left_out))


def _refuse_name(directory: Path, name: str, others: Mapping[str, File]) -> None:
    """A name has to arrive wherever the package goes. Raises `DataError`."""
    shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
    if shown != name or any(not c.isprintable() for c in name):
        raise DataError(f"{directory}: the file name {shown!r} is no plain UTF-8 text", hint="rename the file")
    twin = next((other for other in (SKILL_FILE, *others) if other.casefold() == name.casefold()), "")
    if twin:
        raise DataError(
            f"{directory}: {twin} and {name} differ in case only, and are one file on many disks", hint="rename one"
        )


def _relative(directory: Path, place: str, name: str) -> str:
    return Path(place, name).relative_to(directory).as_posix()
