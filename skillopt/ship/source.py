"""What is exported: a run's best skill, one text of a run, a skill file, or a directory with a SKILL.md and its files.

Hidden files, links and caches of a directory stay behind, and so does what an earlier export wrote about itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.agents.skill_files import NO_FILES, SKILL_FILE, File, SkillFiles, read_skill_files
from skillopt.core.errors import DataError, RunDirError
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import read_skill
from skillopt.explain.skill_ref import named_skill
from skillopt.records.reading import FILES_BESIDE, Run, open_run


@dataclass(frozen=True)
class Source:
    """A skill that was asked for, with the files beside it and the run that made it, if there is one. `skill` is the
    document that was measured; the trained files in it stand in `files` as well."""

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
        found = read_skill_files(path)
        return Source(asked, read_skill(path / SKILL_FILE), None, found.files, found.left_out)
    found = named_skill(asked)
    beside = _beside(found.run)
    trained = {file.path: File(file.content.encode(), file.executable) for file in found.skill.files}
    return Source(found.name, found.skill, found.run, {**beside.files, **trained}, beside.left_out)


def _beside(run: Run | None) -> SkillFiles:
    """The files that the run's target had, as the run keeps them; none where a single file was trained, whatever lies
    beside it."""
    kept = run.root / FILES_BESIDE if run is not None else None
    return read_skill_files(kept) if kept is not None and kept.is_dir() else NO_FILES


def _is_run(path: Path) -> bool:
    try:
        return open_run(path).root.resolve() == path.resolve()
    except RunDirError:
        return False
