"""Shipping a skill: a run's best one, a file or a directory becomes a package where an agent finds it, or an archive.

What stood there before is kept and can be put back. Nothing is asked of a model.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.ship.places import AGENTS, Place, Scope, find_place

if TYPE_CHECKING:
    from skillopt.core.lint import Finding
    from skillopt.ship.provenance import Provenance
    from skillopt.ship.receipts import Receipt

__all__ = ["AGENTS", "Exported", "Undone", "export", "undo_export"]


@dataclass(frozen=True)
class Exported:
    """A package in its place. `path` is its directory or the archive; `replaced` that something stood there before."""

    name: str
    path: Path
    place: Place
    provenance: Provenance
    receipt: Path
    replaced: bool
    warnings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def undo(self) -> Undone:
        """Put back what stood there before. Raises `DataError` when a file was changed since."""
        from skillopt.ship.installing import undo as undo_at

        return _undone(self.place, undo_at(self.place, self.place.package(self.name)))


@dataclass(frozen=True)
class Undone:
    """An export that was taken back. `restored` says that what stood there before is there again."""

    path: Path
    restored: bool


def export(
    source: str | Path,
    to: str | Path,
    *,
    name: str = "",
    description: str = "",
    scope: Scope = "project",
    project: str | Path = ".",
) -> Exported:
    """Make a package of a skill and put it where `to` says: an agent (`claude`, `codex`, `copilot`, `cursor`, `gemini`,
    `opencode`), a directory, `zip`, or an archive's path.

    `source` is a run directory (its best skill), a text of a run (`run@3`), a skill file, or a directory with a
    SKILL.md. `name` and `description` go into its header; one without a header needs both. Raises `DataError` for a
    skill that agents would refuse, one line.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "skill.md").write_text("- Answer with the number only.\\n")
    >>> done = export(place / "skill.md", "claude", name="brief", description="Use for sums.", project=place)
    >>> done.path.relative_to(place).as_posix()
    '.claude/skills/brief'
    """
    from skillopt.agents.skill_files import File
    from skillopt.ship.archive import packed
    from skillopt.ship.installing import install
    from skillopt.ship.package import build_package
    from skillopt.ship.source import find_source

    where = _place(to, scope, project)
    found = find_source(str(source))
    package = build_package(found, name=name, description=description, tool=_tool())
    at = where.package(package.name)
    if where.archive is not None:
        files = {at: File(packed(package.name, package.files))}
    else:
        files = {f"{at}/{path}": file for path, file in package.files.items()}
    receipt = install(where, at, files, source=found.name, skill_hash=found.skill.hash)
    return Exported(
        package.name, where.root / at, where, package.provenance, _receipt_file(where, receipt), receipt.replaced,
        package.warnings, (*package.notes, *_rivals(where, package.name)),
    )  # fmt: skip


def undo_export(
    to: str | Path,
    *,
    source: str | Path | None = None,
    name: str = "",
    scope: Scope = "project",
    project: str | Path = ".",
) -> Undone:
    """Take back the last export to a place: the one of `name`, or of what `source` is called; else the last of all.

    Raises `DataError` when there is none, or when somebody has changed a file of it since.
    """
    from skillopt.config.skill_header import read_header
    from skillopt.ship.installing import undo as undo_at
    from skillopt.ship.source import find_source

    where = _place(to, scope, project)
    if not name and source is not None:
        header = read_header(find_source(str(source)).skill)
        name = str(header.values.get("name", "")) if header is not None else ""
    return _undone(where, undo_at(where, where.package(name) if name or where.archive else ""))


def _place(to: str | Path, scope: Scope, project: str | Path) -> Place:
    return find_place(str(to), scope=scope, project=Path(project), environ=os.environ, home=Path.home())


def _undone(place: Place, receipt: Receipt) -> Undone:
    return Undone(place.root / receipt.package, receipt.replaced)


def _receipt_file(place: Place, receipt: Receipt) -> Path:
    from skillopt.ship.receipts import Receipts

    return Receipts(place.state).path(receipt.id)


def _rivals(place: Place, name: str) -> list[str]:
    """Packages of the same name in other folders that the same program reads."""
    found = [folder / name for folder in place.others if (folder / name / "SKILL.md").is_file()]
    return [f"{path} has the same name, and {place.label.partition(',')[0]} reads it too" for path in found]


def _tool() -> str:
    from skillopt import __version__

    return f"skillopt {__version__}"
