"""A suite: what a skill must go on doing, as files that a repository can hold.

`suite.yaml` names the skill, what it was when the suite was made (`baseline`) and the configuration that asks and
scores; `items/` are the tasks, `recorded/` the answers that cost nothing any more, one journal a version of the skill.
Suites lie in a folder `suites/` beside the skills, never inside a skill: its files go to the agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from skillopt.agents.skill_files import SKILL_FILE
from skillopt.core.errors import ConfigError, DataError, RunDirError
from skillopt.core.json_types import JsonValue, as_object
from skillopt.records.codec import decode, encode_record
from skillopt.store.atomic import write_text

FILE, ITEMS, RECORDED, CONFIG = "suite.yaml", "items", "recorded", "config.yaml"
FOLDER = "suites"


@dataclass(frozen=True, kw_only=True)
class SuiteFile:
    """`suite.yaml`. Paths are relative to it; `fixed` are the items that the run's skill gained."""

    skill: str
    baseline: str = "baseline"
    config: str = CONFIG
    split: str = "test"
    margin: float = 0.0
    fixed: tuple[str, ...] = ()
    run: str = ""


@dataclass(frozen=True)
class Suite:
    """A suite in its directory."""

    root: Path
    said: SuiteFile

    @property
    def name(self) -> str:
        """What its directory is called."""
        return self.root.resolve().name

    @property
    def skill(self) -> Path:
        """The skill under test: a file, or the directory of a package."""
        return _skill_place(self.root / self.said.skill)

    @property
    def skill_file(self) -> Path:
        """The file of the skill itself."""
        return self.skill / SKILL_FILE if self.skill.is_dir() else self.skill

    @property
    def baseline(self) -> Path:
        """What the skill was."""
        return _skill_place(self.root / self.said.baseline)

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.root / self.said.config

    @property
    def arguments(self) -> list[str]:
        """What makes the configuration read this suite's own items, wherever it lies."""
        items = self.root / ITEMS
        return ["env.split_mode=split_dir", f"env.split_dir={items}"] if items.is_dir() else []

    @property
    def recorded(self) -> Path:
        """Where answers are kept."""
        return self.root / RECORDED


def _skill_place(path: Path) -> Path:
    return path.parent if path.name == SKILL_FILE else path


def read_suite(root: Path) -> Suite:
    """Read a suite's directory. Raises `ConfigError` that names the field."""
    path = root / FILE
    try:
        raw: object = yaml.safe_load(path.read_text(encoding="utf-8"))
        said = decode(SuiteFile, _checked(raw, path), str(path))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise ConfigError(f"{path} cannot be read: {said}", hint="see docs/guide/keep-a-skill.md") from None
    except RunDirError as error:
        raise ConfigError(error.message, hint="correct the suite") from None
    suite = Suite(root, said)
    for what, place in (("skill", suite.skill), ("baseline", suite.baseline), ("config", suite.config)):
        if not place.exists():
            raise ConfigError(f"{path}: {what}: {place} does not exist", hint="paths are relative to the suite")
    if not 0 <= said.margin < 1:
        raise ConfigError(f"{path}: margin {said.margin:g}", hint="give a number from 0 to below 1")
    return suite


def _checked(raw: object, path: Path) -> dict[str, JsonValue]:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path} is no mapping", hint="it names at least the skill: `skill: ../skills/x`")
    body = as_object(cast("JsonValue", raw))
    known = set(SuiteFile.__dataclass_fields__)
    unknown = sorted(set(body) - known)
    if unknown:
        raise ConfigError(f"{path}: unknown key {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}")
    if not body.get("skill"):
        raise ConfigError(f"{path}: skill is missing", hint="name the skill: `skill: ../skills/x`")
    return body


def write_suite(root: Path, said: SuiteFile) -> None:
    """Write `suite.yaml`."""
    text: str = yaml.safe_dump(encode_record(said), sort_keys=False, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType]
    write_text(root / FILE, text)


def find_suites(paths: Sequence[Path]) -> list[Suite]:
    """The suites that are meant: a suite's directory or file, a directory with suites below it, or a skill, whose
    suites lie in a folder `suites/` beside it or above. Raises `ConfigError` where there are none."""
    found: dict[Path, Suite] = {}
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path}: no such file or directory", hint="name a suite, a skill or a directory of them")
        for root in (*_below(path), *_beside(path)):
            if root.resolve() not in found:
                found[root.resolve()] = read_suite(root)
    if not found:
        asked = ", ".join(map(str, paths[:3]))
        raise ConfigError(
            f"no suite for {asked}", hint="make one out of a run: skillopt check RUN --as-suite suites/NAME"
        )
    return list(found.values())


def _below(path: Path) -> Iterator[Path]:
    if path.name == FILE:
        yield path.parent
    elif path.is_dir():
        yield from sorted(file.parent for file in path.rglob(FILE))


def _beside(path: Path) -> Iterator[Path]:
    """Suites whose skill is this one, or lies in this directory, or holds this file."""
    here = path.resolve()
    for parent in here.parents:
        for file in sorted((parent / FOLDER).glob(f"*/{FILE}")):
            skill = read_suite(file.parent).skill.resolve()
            if skill == here or here in skill.parents or skill in here.parents:
                yield file.parent
        if (parent / ".git").exists():
            return


def refuse_existing(root: Path) -> None:
    """Raises `DataError` for a directory that holds something."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise DataError(f"{root} exists and is not overwritten", hint="choose another directory, or remove it")
