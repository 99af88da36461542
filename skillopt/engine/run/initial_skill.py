"""What `env.skill_init` names: nothing, a file, or a directory with a SKILL.md whose other files go along."""

from __future__ import annotations

from pathlib import Path

from skillopt.agents.skill_files import NO_FILES, SKILL_FILE, SkillFiles, read_skill_files
from skillopt.config import Config
from skillopt.core.errors import DataError
from skillopt.records.reading import FILES_BESIDE
from skillopt.store.atomic import file_error, write_bytes

PACKAGE_ROOT = Path(__file__).resolve().parents[3]


def initial_place(config: Config) -> Path | None:
    """The file or directory, where it is: from here, or from the repository. None for an empty skill. Raises
    `DataError` when it is missing, or is a directory without a SKILL.md."""
    name = config.env.skill_init
    if not name:
        return None
    for path in (Path(name), PACKAGE_ROOT / name):
        if path.is_file() or (path / SKILL_FILE).is_file():
            return path
        if path.is_dir():
            raise DataError(f"env.skill_init={name}: no {SKILL_FILE} in this directory", hint="name a skill or a file")
    raise DataError(f"env.skill_init={name}: no such file", hint='give a path that exists, or "" for an empty skill')


def skill_files(config: Config) -> SkillFiles:
    """The files that go along; none where a single file is trained, or nothing is there. Raises `DataError` for a
    directory that is no skill's by its size."""
    name = config.env.skill_init
    for path in (Path(name), PACKAGE_ROOT / name) if name else ():
        if (path / SKILL_FILE).is_file():
            return read_skill_files(path)
    return NO_FILES


def keep_files(config: Config, root: Path) -> None:
    """Put the files into the run's directory: what is measured is shipped from there, whatever becomes of the original
    and from wherever the export is called."""
    for name, file in skill_files(config).files.items():
        path = root / FILES_BESIDE / name
        write_bytes(path, file.content)
        try:
            path.chmod(0o755 if file.executable else 0o644)
        except OSError as fault:
            raise file_error(path, fault) from fault
