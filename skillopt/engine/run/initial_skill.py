"""What `env.skill_init` names: nothing, a file, or a directory with a SKILL.md whose other files go along.

`env.skill_files` says which of them are trained as well; they then stand in the skill's document (`core.package`).
"""

from __future__ import annotations

from pathlib import Path

from skillopt.agents.skill_files import NO_FILES, SKILL_FILE, SkillFiles, read_skill_files
from skillopt.config import Config
from skillopt.core.errors import DataError
from skillopt.core.package import PackagedFile, policy_of, read_rules
from skillopt.core.skill import MARKERS
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


def editable_files(config: Config) -> tuple[PackagedFile, ...]:
    """Those that training may edit (`env.skill_files`). Raises `DataError` for one that is too long, or no text."""
    rules, found = read_rules(config.env.skill_files), list[PackagedFile]()
    limit = config.env.skill_file_chars
    for name, file in sorted(skill_files(config).files.items()) if rules else ():
        policy = policy_of(name, rules)
        if policy == "off":
            continue
        off = f"or leave it out: env.skill_files: {config.env.skill_files} {name}=off"
        try:
            content = file.content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is no UTF-8 text (byte {error.start})", hint=f"save it as UTF-8, {off}") from error
        if "\0" in content or any(marker in content for marker in MARKERS):
            raise DataError(f"{name} holds a NUL character, or a line that marks a region", hint=f"take it out, {off}")
        if len(content) > limit:
            raise DataError(
                f"{name} has {len(content)} characters, and env.skill_file_chars is {limit}",
                hint=f"raise it: each call of the optimizer shows the whole file; {off}",
            )
        found.append(PackagedFile(name, content, policy, file.executable))
    if rules and not found:
        raise DataError(
            f"env.skill_files: {config.env.skill_files} fits no file of env.skill_init: {config.env.skill_init}",
            hint="patterns are paths from the skill's directory, like references/**=body; blank trains SKILL.md alone",
        )
    return tuple(found)


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
