"""A skill as a program gives it: its text, a `Skill`, or a file. A text that is one line and ends in .md is a path."""

from __future__ import annotations

from pathlib import Path

from skillopt.core.errors import ConfigError
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import read_skill


def is_file(skill: object) -> bool:
    """A `Path`, or a one-line text that ends in .md."""
    return isinstance(skill, Path) or (isinstance(skill, str) and "\n" not in skill and skill.endswith(".md"))


def skill_of(skill: object) -> Skill:
    """A skill from its text, a `Skill` or a file. Raises `DataError` for a file that cannot be read."""
    if is_file(skill):
        return read_skill(Path(str(skill)))
    if isinstance(skill, (Skill, str)):
        return skill if isinstance(skill, Skill) else Skill(skill)
    raise ConfigError(f"a skill cannot be {type(skill).__name__}", hint="give its text, a Skill, or a Path")
