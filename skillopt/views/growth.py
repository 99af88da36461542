"""The skill as it grew: each version that differs from the one before, and one of them with blame per line."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.core.editing.origins import lines_of
from skillopt.core.errors import RunDirError
from skillopt.core.skill import Skill
from skillopt.explain.cause import Cause
from skillopt.explain.provenance import Provenance, trace
from skillopt.explain.skill_diff import SkillDiff, diff_skills
from skillopt.explain.skill_ref import NamedSkill
from skillopt.model.tokens import expected
from skillopt.records.reading import Run

BEST = "best"


@dataclass(frozen=True)
class VersionRow:
    """A text that was current. `key` names it (`0`, `3`, `best`); sizes are those of the text."""

    key: str
    label: str
    hash: str
    lines: int
    tokens: int
    added: int
    """Lines more or fewer than the version before."""
    best: bool


@dataclass(frozen=True)
class BlamedLine:
    """A line with what put it there, and what is known of that."""

    number: int
    text: str
    label: str
    kind: str
    step: int | None
    verdict: str
    name: str = ""


@dataclass(frozen=True)
class BlamedText:
    """A version line by line. `notice` says why nothing is known of its lines."""

    key: str
    hash: str
    lines: tuple[BlamedLine, ...]
    notice: str = ""


def versions(run: Run) -> tuple[VersionRow, ...]:
    """The versions in order; the one that `best_skill.md` is comes last where it is none of them."""
    best, found = run.best, list[VersionRow]()
    before: Skill | None = None
    for step in (0, *(record.step for record in run.steps)):
        skill = run.skill_after(step)
        if skill is None or (before is not None and skill.hash == before.hash):
            continue
        label = "initial skill" if step == 0 else f"after step {step}"
        found.append(_row(str(step), label, skill, before, best))
        before = skill
    if not any(row.best for row in found):
        found.append(_row(BEST, "best skill", best, before, best))
    return tuple(found)


def _row(key: str, label: str, skill: Skill, before: Skill | None, best: Skill) -> VersionRow:
    lines = len(lines_of(skill.text))
    more = lines - len(lines_of(before.text)) if before is not None else 0
    return VersionRow(key, label, skill.hash, lines, expected(skill.text), more, skill.hash == best.hash)


def version(run: Run, key: str) -> Skill:
    """The text of a version. Raises `RunDirError` for one that the run does not have."""
    skill = run.best if key == BEST else run.skill_after(int(key)) if key.isdecimal() else None
    if skill is None:
        raise RunDirError(f"{run.root} has no version {key!r}", hint="name a step, 0 for the initial skill, or best")
    return skill


def blamed(run: Run, key: str, provenance: Provenance | None = None) -> BlamedText:
    """A version with what put each line there; without origins where the run does not explain these bytes."""
    skill = version(run, key)
    try:
        traced = (provenance or trace(run)).of(skill)
    except RunDirError as error:
        plain = tuple(BlamedLine(n, text, "", "", None, "") for n, text in enumerate(lines_of(skill.text), start=1))
        return BlamedText(key, skill.hash, plain, str(error))
    lines = tuple(
        _blamed(n, line.text, traced.cause(line), line.origin in traced.proofs)
        for n, line in enumerate(traced.lines, start=1)
    )
    return BlamedText(key, skill.hash, lines)


def _blamed(number: int, text: str, cause: Cause, proven_later: bool) -> BlamedLine:
    verdict = "" if cause.gate is None else cause.gate.action.words
    if proven_later:
        verdict = f"{verdict}, proven later"
    return BlamedLine(number, text, cause.label, cause.kind, cause.step, verdict, cause.name)


def version_diff(run: Run, a: str, b: str) -> SkillDiff:
    """The difference of two versions, each changed line with its cause."""
    names = {"0": "initial skill", BEST: "best skill"}
    left, right = (NamedSkill(names.get(key, f"after step {key}"), version(run, key), run) for key in (a, b))
    return diff_skills(left, right)
