"""What changed between two skills, line by line, and which edits of which step brought each changed line."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from skillopt.core.editing.origins import lines_of
from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import Skill
from skillopt.explain.cause import Cause
from skillopt.explain.provenance import Traced
from skillopt.explain.skill_ref import NamedSkill, explained
from skillopt.model.tokens import expected

Sign = Literal["+", "-", " "]


@dataclass(frozen=True)
class ChangedLine:
    """A line of the comparison. `number` counts in the text it stands in (B for ' ' and '+'). `cause` is what brought
    it, or for '-' what took it out, where both are texts of one run; None where no run says."""

    sign: Sign
    number: int
    text: str
    cause: Cause | None

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        origin = self.cause.name if self.cause is not None else None
        return {"sign": self.sign, "line": self.number, "text": self.text, "origin": origin}


@dataclass(frozen=True)
class SkillDiff:
    """Two skills and their difference, in hunks with some unchanged lines around."""

    a: NamedSkill
    b: NamedSkill
    hunks: tuple[tuple[ChangedLine, ...], ...]

    @property
    def same(self) -> bool:
        """True when the two texts are the same bytes."""
        return self.a.skill == self.b.skill

    @property
    def only_line_ends(self) -> bool:
        """True when the texts differ in line ends or in the end of the file only."""
        return not self.same and not self.hunks

    def __str__(self) -> str:
        """The changed lines as `diff -u` shows them."""
        head = [f"--- {self.a.name}", f"+++ {self.b.name}"]
        hunks = [line for hunk in self.hunks for line in ("@@", *(f"{one.sign}{one.text}" for one in hunk))]
        return "\n".join([*head, *hunks]) if self.hunks else f"{self.a.name} and {self.b.name}: no line differs"

    def causes(self) -> dict[str, Cause]:
        """What is behind the changed lines, in order of appearance."""
        lines = (line for hunk in self.hunks for line in hunk if line.sign != " ")
        return {line.cause.name: line.cause for line in lines if line.cause is not None}

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        lines = [line for hunk in self.hunks for line in hunk]
        causes = {line.cause.name: line.cause.to_json() for line in lines if line.cause is not None}
        return {
            "a": {"name": self.a.name, "hash": self.a.skill.hash, **sizes(self.a.skill)},
            "b": {"name": self.b.name, "hash": self.b.skill.hash, **sizes(self.b.skill)},
            "same": self.same,
            "only_line_ends": self.only_line_ends,
            "added": sum(line.sign == "+" for line in lines),
            "removed": sum(line.sign == "-" for line in lines),
            "hunks": [[line.to_json() for line in hunk] for hunk in self.hunks],
            "origins": causes,
        }


def sizes(skill: Skill) -> dict[str, int]:
    """Characters, lines and the likely number of tokens of a skill."""
    text = skill.text
    return {"chars": len(text), "lines": len(lines_of(text)), "tokens": expected(text)}


def diff_skills(a: NamedSkill, b: NamedSkill, *, context: int = 3) -> SkillDiff:
    """Compare two skills; lines are explained where a skill is a text of the run it lies in."""
    old, new = _texts(a.skill), _texts(b.skill)
    before, after = _traced(a), _traced(b)
    left, right = _removers(a, b, before, after) or _causes(before), _causes(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    hunks: list[tuple[ChangedLine, ...]] = []
    for group in matcher.get_grouped_opcodes(context):
        lines: list[ChangedLine] = []
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [ChangedLine(" ", n + 1, new[n], right.get(n)) for n in range(k, m)]
            else:
                lines += [ChangedLine("-", n + 1, old[n], left.get(n)) for n in range(i, j)]
                lines += [ChangedLine("+", n + 1, new[n], right.get(n)) for n in range(k, m)]
        hunks.append(tuple(lines))
    return SkillDiff(a, b, tuple(hunks))


def _texts(skill: Skill) -> list[str]:
    """Lines to compare: a CR at a line's end is a matter of the file, not of its words."""
    return [line.rstrip("\r") for line in lines_of(skill.text)]


def _causes(traced: Traced | None) -> dict[int, Cause]:
    """What put each line (from 0) there; empty for a text that no run explains."""
    return {n: traced.cause(line) for n, line in enumerate(traced.lines)} if traced is not None else {}


def _removers(a: NamedSkill, b: NamedSkill, before: Traced | None, after: Traced | None) -> dict[int, Cause]:
    """What took each line of A out on the way to B, when both are texts of one run and A is the earlier one."""
    if before is None or after is None or a.run is None or b.run is None:
        return {}
    if a.run.root.resolve() != b.run.root.resolve() or not before.place < after.place:
        return {}
    out = {line.id: name for name, hunks in after.hunks.items() for hunk in hunks for line in hunk.removed}
    return {n: after.causes[out[line.id]] for n, line in enumerate(before.lines) if line.id in out}


def _traced(named: NamedSkill) -> Traced | None:
    if named.run is None:
        return None
    try:
        return explained(named)
    except RunDirError:  # a file beside a run, or one that was edited since: it is compared without origins
        return None
