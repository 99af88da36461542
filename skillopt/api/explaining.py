"""Questions about a skill: what is wrong with it, where its lines come from, what changed between two.

A skill is named as on the command line: a file, a run directory (its best skill), a step of a run (`run@3`,
`run@initial`), and for `blame` one line or several of a file (`best_skill.md:12`, `best_skill.md:12-20`). Nothing is
spent and nothing written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue
from skillopt.explain.cause import Cause
from skillopt.explain.evidence import Attempt, Support
from skillopt.explain.lint_file import Report as LintReport
from skillopt.explain.lint_file import check
from skillopt.explain.provenance import Traced
from skillopt.explain.skill_diff import ChangedLine, SkillDiff, diff_skills, sizes
from skillopt.explain.skill_ref import explained, named_skill, split_lines

__all__ = [
    "Attempt", "Blamed", "Cause", "ChangedLine", "LintReport", "SkillDiff", "Support", "Traced", "blame", "diff",
    "lint", "sizes",
]  # fmt: skip


@dataclass(frozen=True)
class Blamed:
    """A skill explained line by line; `lines` are the first and the last that were asked for, None for all."""

    traced: Traced
    lines: tuple[int, int] | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The lines with the names of their causes, and those causes with their evidence."""
        return self.traced.to_json(self.lines)


def lint(skill: str | Path, config: str | Path | None = None) -> LintReport:
    """Check a skill file, the SKILL.md of a directory, or the best skill of a run: header, links, rules said twice or
    against each other, shouting, secrets, and data that it must not have copied (known from its run or `config`).

    Raises `DataError` for what is no file, `ConfigError` for a configuration that cannot be used.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "skill.md")
    >>> _ = file.write_text("- Answer with the number only.\\n")
    >>> lint(file).errors
    0
    """
    return check(Path(skill), Path(config) if config is not None else None)


def blame(skill: str | Path, run: str | Path | None = None) -> Blamed:
    """Where each line of a skill comes from: edit, step, rollouts, and the verdict that let it in. `run` is the run it
    came from, when it lies elsewhere. Raises `DataError` or `RunDirError`, one line.

    >>> blame("no_such_run/best_skill.md:3")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: skill file no_such_run/best_skill.md: No such file or directory. check the path
    """
    path, lines = split_lines(str(skill))
    traced = explained(named_skill(path), Path(run) if run is not None else None)
    if lines is not None and lines[1] > len(traced.lines):
        count = len(traced.lines)
        raise DataError(f"{path} has {count} line{'' if count == 1 else 's'}, there is no line {lines[1]}")
    return Blamed(traced, lines)


def diff(a: str | Path, b: str | Path) -> SkillDiff:
    """What changed from one skill to another, line by line, with the edits behind the lines where a run knows them.

    >>> import pathlib, tempfile
    >>> old, new = (pathlib.Path(tempfile.mkdtemp(), "skill.md") for _ in range(2))
    >>> _ = old.write_text("- Be brief.\\n"), new.write_text("- Be brief.\\n- Give the unit.\\n")
    >>> [line.text for hunk in diff(old, new).hunks for line in hunk if line.sign == "+"]
    ['- Give the unit.']
    """
    return diff_skills(named_skill(str(a)), named_skill(str(b)))
