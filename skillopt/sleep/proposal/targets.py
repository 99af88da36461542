"""Which live files a night may propose to change, and which it refuses.

Each host has a memory file and a place for the managed skill. A path that is a link is followed once and shown; two
paths that come to one file are one target. Refused are files outside the project and the named roots, files with
several hard links, and whatever is no regular file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from skillopt.core.errors import DataError

Kind = Literal["skill", "memory"]
_MEMORY = {"claude": "CLAUDE.md", "codex": "AGENTS.md", "copilot": ".github/copilot-instructions.md"}
_SKILLS = {"claude": ".claude/skills", "codex": ".agents/skills", "copilot": ".agents/skills"}
HOSTS: tuple[str, ...] = tuple(_MEMORY)
MEMORY_NAMES = frozenset(Path(path).name for path in _MEMORY.values())
SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class TargetRefused(DataError):
    """A file that may not be a target; says which and why."""


@dataclass(frozen=True)
class Target:
    """A document that may be changed. `live` is the path as named, `real` where its bytes are."""

    name: str
    kind: Kind
    live: Path
    real: Path
    hosts: tuple[str, ...] = ()
    note: str = ""

    @property
    def proposed_file(self) -> str:
        """Its place below `proposed/` of a staged night."""
        if self.kind == "memory":
            return self.name
        return f"skills/{self.name}/{self.live.parent.name}/SKILL.md"

    def read(self) -> bytes | None:
        """The live bytes; None when there is no file. Raises `TargetRefused`."""
        try:
            return self.real.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise TargetRefused(f"{self.live}: {fault.strerror}") from fault


def targets_of(
    project: Path,
    hosts: Sequence[str],
    *,
    skill_name: str,
    named: Sequence[str] = (),
    roots: Sequence[Path] = (),
    kinds: Sequence[Kind] = ("skill", "memory"),
) -> tuple[list[Target], list[str]]:
    """Targets in the order of `hosts` (the one with most sessions first), and a line for each that was refused.

    `named` (paths, relative to the project, or names such as CLAUDE.md) replaces the hosts' own.
    """
    wanted = [_by_name(project, n) for n in named] if named else _of_hosts(project, hosts, skill_name)
    found: list[Target] = []
    refused: list[str] = []
    for target in wanted:
        if target.kind not in kinds:
            continue
        try:
            checked = resolved(target, project, roots)
        except TargetRefused as fault:
            refused.append(str(fault))
            continue
        twin = next((n for n, t in enumerate(found) if _same_file(t.real, checked.real)), None)
        if twin is None:
            found.append(checked)
        else:
            both = tuple(dict.fromkeys((*found[twin].hosts, *checked.hosts)))
            found[twin] = replace(found[twin], hosts=both, note=f"also {checked.live.name}")
    return found, refused


def _of_hosts(project: Path, hosts: Sequence[str], skill_name: str) -> list[Target]:
    made: list[Target] = []
    for host in hosts:
        folder = _SKILLS[host]
        name = f"{folder.split('/')[0].lstrip('.')}-skill"
        skill = project / folder / skill_name / "SKILL.md"
        made.append(Target(name, "skill", skill, skill, (host,)))
        memory = project / _MEMORY[host]
        made.append(Target(memory.name, "memory", memory, memory, (host,)))
    return made


def _by_name(project: Path, name: str) -> Target:
    known = {Path(path).name: path for path in _MEMORY.values()}
    path = project / known.get(name, name)
    if path.name == "SKILL.md":
        return Target(f"{path.parent.name}-skill", "skill", path, path)
    if path.name not in MEMORY_NAMES:
        raise TargetRefused(f"{path}: a target is a SKILL.md or one of {', '.join(sorted(MEMORY_NAMES))}")
    return Target(path.name, "memory", path, path)


def resolved(target: Target, project: Path, roots: Sequence[Path] = ()) -> Target:
    """The target with its real path. Raises `TargetRefused`."""
    live = target.live
    real = Path(os.path.realpath(live))
    allowed = [Path(os.path.realpath(root)) for root in (project, *roots)]
    if not any(real.is_relative_to(root) for root in allowed):
        raise TargetRefused(f"{live}: lies outside the project ({real})", hint="name its folder with --skill-root")
    if not SEGMENT.fullmatch(target.name) or (target.kind == "skill" and not SEGMENT.fullmatch(live.parent.name)):
        raise TargetRefused(f"{live}: its name is not one safe path segment")
    note = target.note
    if live.is_symlink():
        if (live.parent / os.readlink(live)).is_symlink():
            raise TargetRefused(f"{live}: a link to a link", hint="name the file itself as target")
        note = f"a link to {real}"
    try:
        info = os.lstat(real)
    except FileNotFoundError:
        return replace(target, real=real, note=note)
    if not stat.S_ISREG(info.st_mode):
        raise TargetRefused(f"{live}: not a regular file")
    if info.st_nlink > 1:
        raise TargetRefused(f"{live}: the file has {info.st_nlink} hard links, another name would change with it")
    return replace(target, real=real, note=note)


def _same_file(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
