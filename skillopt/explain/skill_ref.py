"""Skills as people name them on a command line: a file, a run, one text of a run, a line of a file.

`run` is a run directory and means its best skill; `run@3` is the current skill after step 3, `run@0` or `run@initial`
the one it started from, `run@best` the best one, `run@reviewed` the one that a review left. `file:12` and `file:12-20`
name lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import DataError, RunDirError
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import read_skill
from skillopt.explain.provenance import Traced, trace
from skillopt.records.reading import Run, open_run

_LINES = re.compile(r"(?P<path>.+):(?P<first>[0-9]+)(?:-(?P<last>[0-9]+))?")
_AT = re.compile(r"(?P<run>.+)@(?P<which>[0-9]+|best|initial|reviewed)")


@dataclass(frozen=True)
class NamedSkill:
    """A skill that was asked for. `run` is the run it was found in, None for a file of its own."""

    name: str
    skill: Skill
    run: Run | None


def split_lines(asked: str) -> tuple[str, tuple[int, int] | None]:
    """`file:12` as (`file`, (12, 12)); a path that exists as it is names no line. Raises `DataError` for line 0."""
    match = _LINES.fullmatch(asked)
    if match is None or Path(asked).exists():
        return asked, None
    first = int(match["first"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise DataError(f"{asked}: lines count from 1, the first one first", hint="write for example best_skill.md:3-7")
    return match["path"], (first, last)


def named_skill(asked: str) -> NamedSkill:
    """Find the skill a user means. Raises `DataError` or `RunDirError`, one line."""
    path = Path(asked)
    at = None if path.exists() else _AT.fullmatch(asked)
    if at is not None:
        run = open_run(Path(at["run"]))
        if run.root.resolve() != Path(at["run"]).resolve():
            raise RunDirError(f"{at['run']} is no run directory", hint="name the directory that holds history.json")
        return NamedSkill(asked, _of_run(run, at["which"]), run)
    if path.is_dir():
        run = open_run(path)
        return NamedSkill(str(path / "best_skill.md"), read_skill(path / "best_skill.md"), run)
    try:
        run = open_run(path)
    except RunDirError:
        run = None
    return NamedSkill(asked, read_skill(path), run)


def _of_run(run: Run, which: str) -> Skill:
    if which == "reviewed":
        if run.reviewed is None:
            raise RunDirError(f"{run.root} has no reviewed skill", hint="skillopt review RUN decides and measures one")
        return run.reviewed
    if which == "best":
        return read_skill(run.root / "best_skill.md")
    step = 0 if which == "initial" else int(which)
    skill = run.skill_after(step)
    if skill is None:
        last = max((record.step for record in run.steps), default=0)
        raise RunDirError(f"{run.root} has no step {step}", hint=f"its steps are 1 to {last}; 0 is the initial skill")
    return skill


def explained(asked: NamedSkill, run: Path | None = None) -> Traced:
    """A skill with the origin of each line, from its own run or from `run`. Raises `RunDirError` when there is none."""
    found = open_run(run) if run is not None else asked.run
    if found is None:
        raise RunDirError(
            f"{asked.name} is not in a run directory, so nothing says where its lines come from",
            hint="name the run it came from: --run <run directory>",
        )
    return trace(found).of(asked.skill)
