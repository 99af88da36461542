"""Every line of a run's skill, traced to what put it there (invariant I8): the accepted texts of a run, replayed.

Reads views and writes nothing. The bytes decide: a text is explained only if it is a text of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.editing.origins import Hunk, Line, text_of, undo
from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import MARKERS, Skill
from skillopt.explain.cause import INITIAL, Cause
from skillopt.explain.lineage import Lineage, Proof, Version
from skillopt.explain.review_text import check, replaced, review_cause
from skillopt.records.beside.review import EditDecision
from skillopt.records.reading import Run


@dataclass(frozen=True)
class Traced:
    """One text of a run, explained line by line. `place` counts the accepted texts before it; a candidate that was not
    kept comes after the text it was made from."""

    version: Version
    place: int
    causes: Mapping[str, Cause]
    hunks: Mapping[str, list[Hunk]]
    proofs: Mapping[str, Proof]
    """By cause: the gate that proved what its own gate had kept as a draft."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, in order."""
        return self.version.lines

    def cause(self, line: Line) -> Cause:
        """What put a line there."""
        return self.causes[line.origin]

    def surviving(self) -> dict[str, int]:
        """Causes after the initial skill with the number of their lines that say something, in order of the run."""
        counts = dict.fromkeys(self.causes, 0)
        for line in self.lines:
            counts[line.origin] += line.text.strip() not in ("", *MARKERS)
        return {name: n for name, n in counts.items() if n and name != INITIAL.name}

    def without(self, names: Sequence[str]) -> Traced:
        """The text as if these causes had not been: the latest is undone first, so that what it replaced can go too."""
        order, lines = list(self.causes), self.lines
        for name in sorted(names, key=order.index, reverse=True):
            lines = undo(lines, self.hunks.get(name, ()), name, keep=MARKERS)
        skill = Skill(text_of(lines, like=self.version.skill.text))
        return replace(self, version=Version(f"{self.version.name} without {', '.join(names)}", skill, lines))

    def reviewed(self, decisions: Sequence[EditDecision]) -> Traced:
        """The text that a review leaves: refused changes are undone, changed ones have the person's lines. Raises
        `DataError` for a decision that cannot be carried out."""
        check(decisions, self.surviving())
        left = self.without([each.origin for each in decisions if each.choice == "refuse"])
        causes, lines = dict(self.causes), left.lines
        for each in decisions:
            if each.choice == "change":
                cause = review_cause(self.causes[each.origin], each)
                causes[cause.name] = cause
                lines = replaced(lines, each, cause.name)
        skill = Skill(text_of(lines, like=self.version.skill.text))
        return replace(left, version=Version("reviewed", skill, tuple(lines)), causes=causes)

    def to_json(self, lines: tuple[int, int] | None = None) -> dict[str, JsonValue]:
        """The lines (all, or from the first to the second number) with the names of their causes, and those causes."""
        first, last = lines or (1, len(self.lines))
        shown = [(n, line) for n, line in enumerate(self.lines, start=1) if first <= n <= last]
        named = dict.fromkeys(name for _, line in shown for name in (line.origin, *line.earlier))
        return {
            "version": self.version.name,
            "skill_hash": self.version.skill.hash,
            "lines": [
                {"line": n, "text": line.text, "origin": line.origin, "earlier": list(line.earlier)}
                for n, line in shown
            ],
            "origins": {name: {**self.causes[name].to_json(), "proof": self._proof(name)} for name in named},
        }

    def _proof(self, name: str) -> dict[str, JsonValue] | None:
        return self.proofs[name].to_json() if name in self.proofs else None


@dataclass(frozen=True)
class Provenance:
    """All accepted texts of a run and its candidates."""

    lineage: Lineage
    candidates: tuple[tuple[int, Version], ...]
    """(step, text it was made from) of the candidates that were not kept."""

    def of(self, skill: Skill) -> Traced:
        """The text with these bytes: the last accepted one, a candidate, or what an ablation made of a text. Raises
        `RunDirError` for others."""
        found = self._accepted(skill) or self._candidate(skill) or self._ablated(skill) or self._reviewed(skill)
        if found is None:
            raise RunDirError(
                f"these bytes ({skill.hash}) are no text of the run {self.lineage.run.root}: the file was edited "
                "since, or it comes from another run",
                hint=f"blame {self.lineage.run.root / 'best_skill.md'}, or see with skillopt diff what was changed",
            )
        return found

    def _accepted(self, skill: Skill) -> Traced | None:
        lineage = self.lineage
        for place in reversed(range(len(lineage.versions))):
            if lineage.versions[place].skill == skill:
                return Traced(lineage.versions[place], place, lineage.causes, lineage.hunks, lineage.proofs)
        return None

    def _candidate(self, skill: Skill) -> Traced | None:
        lineage = self.lineage
        for step, before in self.candidates:
            if lineage.run.skill(f"{lineage.run.step_dir(step)}/candidate_skill.md") == skill:
                record = next(r for r in lineage.run.steps if r.step == step)
                branch = lineage.branch(before)
                branch.step(record, skill)
                version = replace(branch.last, name=f"candidate of step {step} (not kept)")
                place = next(n for n, v in enumerate(lineage.versions) if v.name == before.name) + 1
                return Traced(version, place, branch.causes, branch.hunks, branch.proofs)
        return None

    def _ablated(self, skill: Skill) -> Traced | None:
        """A text of `skillopt ablate`: an accepted one without one edit, or without all that were pruned."""
        result = self.lineage.run.ablation
        full = next((v.skill for v in self.lineage.versions if result and v.skill.hash == result.skill_hash), None)
        traced = self._accepted(full) if full is not None else None
        if result is None or traced is None:
            return None
        for names in (result.pruned.left_out if result.pruned else (), *((edit.origin,) for edit in result.edits)):
            if names and all(name in traced.causes for name in names):
                left = traced.without(names)
                if left.version.skill == skill:
                    return left
        return None

    def _reviewed(self, skill: Skill) -> Traced | None:
        """The text that a review left of an accepted one."""
        record = self.lineage.run.review
        full = next((v.skill for v in self.lineage.versions if record and v.skill.hash == record.skill_hash), None)
        traced = self._accepted(full) if full is not None else None
        if record is None or traced is None:
            return None
        left = traced.reviewed(record.decisions)
        return left if left.version.skill == skill else None


def trace(run: Run) -> Provenance:
    """Replay a run. Raises `RunDirError` when its views are damaged."""
    lineage, candidates = Lineage(run), list[tuple[int, Version]]()
    lineage.begin()
    records = run.steps
    for n, record in enumerate(records):
        after = run.skill_after(record.step)
        candidate = run.skill(f"{run.step_dir(record.step)}/candidate_skill.md")
        if record.gate.changed_current:
            lineage.step(record, candidate or after or lineage.last.skill)
        elif candidate is not None:
            candidates.append((record.step, lineage.last))
        lineage.notes(record)
        if n + 1 == len(records) or records[n + 1].epoch != record.epoch:
            lineage.epoch_end(record.epoch)
        if after is not None:
            lineage.after(record, after)
    lineage.end()
    return Provenance(lineage, tuple(candidates))
