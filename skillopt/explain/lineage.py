"""The chain of accepted texts of a run, each made from the one before it, with every line followed through.

A step's edits are applied again, one by one, by the editor that applied them first. What that does not explain (a
rewrite, the owner of a region, views of another program) is attributed by comparing the texts: to the edit whose
content holds the line, else to the owner of the place where it stands. So no line is left without an origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.editing.origins import Hunk, Line, OriginOf, carry, first_lines
from skillopt.core.editing.regions import region_text, with_slow_update
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.explain.cause import (
    INITIAL,
    Cause,
    Kind,
    edit_cause,
    line_cause,
    meta_reflect_cause,
    slow_update_cause,
    step_cause,
)
from skillopt.explain.owner import owner_of, places_of
from skillopt.records.codec import decode, encode_record
from skillopt.records.factorial import EffectRecord
from skillopt.records.gate import GateRecord
from skillopt.records.reading import Run
from skillopt.records.step import StepRecord
from skillopt.records.step_files import Numbered, applied_edits, edits_in, proposed_edits
from skillopt.records.vocabulary import Action, Stage


@dataclass(frozen=True)
class Version:
    """One text of a run and the lines it consists of. `name` is the origin that the run's records give it."""

    name: str
    skill: Skill
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Proof:
    """A gate that accepted a text, some of whose lines earlier gates had let through as a draft."""

    label: str
    gate: GateRecord

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {"by": self.label, "gate": encode_record(self.gate)}


@dataclass
class Lineage:
    """Grows by one change after the other; `versions` holds the texts, `hunks` what each cause did."""

    run: Run
    versions: list[Version] = field(default_factory=list[Version])
    causes: dict[str, Cause] = field(default_factory=dict[str, Cause])
    hunks: dict[str, list[Hunk]] = field(default_factory=dict[str, "list[Hunk]"])
    proofs: dict[str, Proof] = field(default_factory=dict[str, "Proof"])
    """The later gate that proved what was kept as a draft, by cause."""
    ids: Iterator[int] = field(default_factory=count)
    _drafts: list[str] = field(default_factory=list[str])
    _judged_causes: int = 0

    @property
    def last(self) -> Version:
        """The text that the next change starts from."""
        return self.versions[-1]

    def begin(self) -> None:
        """The initial skill."""
        self.causes[INITIAL.name] = INITIAL
        self._judged_causes = 1
        skill = self.run.initial
        self.versions.append(Version("initial_skill", skill, first_lines(skill.text, INITIAL.name, self.ids)))

    def branch(self, version: Version) -> Lineage:
        """A lineage of its own that starts from `version`: for candidates that were not kept."""
        hunks = {name: list(hunks) for name, hunks in self.hunks.items()}
        return Lineage(self.run, [version], dict(self.causes), hunks, dict(self.proofs), self.ids)

    def step(self, record: StepRecord, candidate: Skill) -> None:
        """The candidate of a step, made from the last text; that of a factorial search, made from the initial one."""
        if record.factorial is not None:
            self._lines(record, record.factorial.effects, candidate)
            return
        number = record.step
        name, base = f"step_{number:04d}", self.run.step_dir(number)
        edits = applied_edits(self.run.rows(f"{base}/edit_apply_report.json"), proposed_edits(self.run, number))
        causes = [edit_cause(self.run, record, n, edit) for n, edit in edits]
        if self._replay(name, edits, causes, candidate):
            self.rest(name, record, candidate)
        else:
            self.rest(name, record, candidate, list(zip([e for _, e in edits], causes, strict=True)))
        self._judged(f"step {number}", record.gate)

    def _lines(self, record: StepRecord, rows: Sequence[EffectRecord], candidate: Skill) -> None:
        """A draft of a factorial search: every line is its own cause, whatever step it came into the draft by."""
        last = {row.line: row for row in self._last_effects()}
        edits = [(row.line, Edit.from_json(row.edit)) for row in rows]
        causes = [line_cause(self.run, record, row, last.get(row.line)) for row in rows]
        for cause in causes:  # of the last draft that had the line, and in the order of this one
            self.causes.pop(cause.name, None)
            self.hunks.pop(cause.name, None)
        name, initial = f"step_{record.step:04d}", self.versions[0]
        self.versions.append(Version(name, initial.skill, initial.lines))
        if self._replay(name, edits, causes, candidate):
            self.versions.pop(-2)
        self.rest(name, record, candidate, list(zip([edit for _, edit in edits], causes, strict=True)))
        self._drafts = [cause.name for cause in causes]
        self._judged_causes = len(self.causes)

    def _last_effects(self) -> list[EffectRecord]:
        rows = self.run.rows("effects.json")
        return [decode(EffectRecord, row, "effects.json") for row in rows]

    def notes(self, record: StepRecord) -> None:
        """The appendix notes of a step, which were measured on a text of their own."""
        if record.notes is None:
            return
        result = record.notes.appendix
        candidate = self._kept(result, f"{self.run.step_dir(record.step)}/appendix_candidate_skill.md")
        if candidate is not None:
            self._whole(step_cause(self.run, record, "appendix_note"), candidate)
            self._judged(f"the notes of step {record.step}", result)

    def epoch_end(self, epoch: int) -> None:
        """Draft review, slow update and meta reflection of an epoch, where their records say that they changed the
        current skill."""
        self._draft_review(epoch)
        self._slow_update(epoch)
        self._meta_reflect(epoch)

    def _draft_review(self, epoch: int) -> None:
        result = self.run.epoch_result(Stage.DRAFT_REVIEW, epoch)
        if result is None or result.gate.action is not Action.DROP_DRAFT:
            return
        proven = next((v for v in reversed(self.versions) if v.skill.hash == result.proven_hash), None)
        if proven is not None:
            self.versions.append(Version(f"draft given up at the end of epoch {epoch}", proven.skill, proven.lines))
            self._drafts.clear()

    def _slow_update(self, epoch: int) -> None:
        result = self.run.epoch_result(Stage.SLOW_UPDATE, epoch)
        if result is None:
            return
        candidate = self._kept(result.gate, f"slow_update/epoch_{epoch:02d}/candidate_skill.md")
        placed = result.gate.action is Action.INJECT_PLACEHOLDER
        if placed and region_text(self.last.skill, SLOW_UPDATE) is None:
            candidate = with_slow_update(self.last.skill, "")
        if candidate is not None:
            self._whole(slow_update_cause(self.run, epoch), candidate)
            self._judged(f"the slow update of epoch {epoch}", result.gate)

    def _meta_reflect(self, epoch: int) -> None:
        place, result = f"meta_reflect/epoch_{epoch:02d}", self.run.epoch_result(Stage.META_REFLECT, epoch)
        candidate = self._kept(result.gate, f"{place}/meta_candidate.md") if result is not None else None
        if result is None or candidate is None:
            return
        patch = self.run.mapping(f"{place}/meta_patch.json")
        edits = applied_edits(self.run.rows(f"{place}/meta_edit_apply_report.json"), edits_in(patch))
        causes = [meta_reflect_cause(self.run, epoch, n, edit) for n, edit in edits]
        whole = meta_reflect_cause(self.run, epoch)
        if not self._replay(whole.name, edits, causes, candidate) or self.last.skill != candidate:
            self._whole(whole, candidate)
        self._judged(f"the meta reflection of epoch {epoch}", result.gate)

    def end(self) -> None:
        """The last look of a finished run at a draft that nothing had proven."""
        summary = self.run.summary
        if summary is not None and summary.last_look is not None:
            self._judged("the last look of the run", summary.last_look)

    def after(self, record: StepRecord, text: Skill) -> None:
        """The current skill after a step. A draft may have been given up, or have lost edits again (`engine.prune`):
        what they had replaced comes back with the origin it had."""
        name = f"end of step {record.step}"
        back = next((version for version in reversed(self.versions) if version.skill == text), None)
        if back is None:
            present = {line.id for line in self.last.lines}
            removed = [line for hunks in self.hunks.values() for hunk in hunks for line in hunk.removed]
            gone = {line.id: line for line in removed if line.id not in present}
            self.rest(name, record, text, gone=list(gone.values())[::-1])
        elif back.skill != self.last.skill:
            self.versions.append(Version(name, text, back.lines))
            self._drafts.clear()

    def rest(
        self,
        name: str,
        record: StepRecord,
        text: Skill,
        edits: Sequence[tuple[Edit, Cause]] = (),
        *,
        gone: Sequence[Line] = (),
    ) -> None:
        """Whatever else makes the last text into `text`: a line belongs to the edit whose content holds it, else to the
        owner of the place where it stands."""
        if text == self.last.skill:
            return
        places = list(places_of(text, rewritten=self._rewritten(record)))
        owners: dict[Kind, Cause] = {}

        def origin(at: int, line: str) -> str:
            cause = owner_of(line, edits)
            if cause is None:
                cause = owners.get(places[at]) or self._cause_of(places[at], record)
                owners[places[at]] = cause
            self.causes.setdefault(cause.name, cause)
            return cause.name

        self._advance(name, text, origin, gone)

    def _judged(self, label: str, result: GateRecord) -> None:
        """Remember what a gate said of the causes since the last one: they are drafts, or it proves them and all drafts
        before."""
        fresh = list(self.causes)[self._judged_causes :]
        self._judged_causes = len(self.causes)
        if result.proven or result.action is Action.FORCE_ACCEPT:
            proof = Proof(label, result)
            self.proofs.update(dict.fromkeys(self._drafts, proof))
            self._drafts.clear()
        elif result.changed_current:
            self._drafts += fresh

    def _cause_of(self, kind: Kind, record: StepRecord) -> Cause:
        if kind == "slow_update":
            return slow_update_cause(self.run, record.epoch)
        return step_cause(self.run, record, kind)

    def _kept(self, result: GateRecord, name: str) -> Skill | None:
        candidate = self.run.skill(name) if result.changed_current else None
        return None if candidate == self.last.skill else candidate

    def _rewritten(self, record: StepRecord) -> bool:
        base = self.run.root / self.run.step_dir(record.step)
        return any((base / name).is_file() for name in ("rewrite_result.json", "full_rewrite_result.json"))

    def _replay(self, name: str, edits: Sequence[Numbered], causes: Sequence[Cause], candidate: Skill) -> bool:
        """Apply the edits one by one. False, and nothing done, when that does not give the candidate's body."""
        skill, lines = self.last.skill, self.last.lines
        gone: list[Line] = []
        made: list[tuple[Cause, tuple[Hunk, ...]]] = []
        for (_, edit), cause in zip(edits, causes, strict=True):
            changed, report = apply_patch(skill, Patch((edit,)), insert_after_fallback="append")
            if not report.statuses[0].applied:
                return False
            skill = changed
            lines, hunks = carry(lines, skill.text, _always(cause.name), self.ids, gone=gone)
            gone += [line for hunk in hunks for line in hunk.removed]
            made.append((cause, hunks))
        if not edits or _body(skill) != _body(candidate):
            return False
        for cause, hunks in made:
            self.causes[cause.name] = cause
            self.hunks.setdefault(cause.name, []).extend(hunks)
        self.versions.append(Version(name, skill, lines))
        return True

    def _whole(self, cause: Cause, text: Skill) -> None:
        """One more text, all of whose changes have one cause."""
        self.causes[cause.name] = cause
        self._advance(cause.name, text, _always(cause.name))

    def _advance(self, name: str, text: Skill, origin: OriginOf, gone: Sequence[Line] = ()) -> None:
        """One more text. A version of the same name (edits, then notes of one step) is replaced by it."""
        known = {line.id for line in (*self.last.lines, *gone)}
        lines, hunks = carry(self.last.lines, text.text, origin, self.ids, gone=gone)
        owners = {line.id: line.origin for line in lines if line.id not in known}
        for hunk in hunks:
            for owner in dict.fromkeys(owners[i] for i in hunk.added if i in owners):
                self.hunks.setdefault(owner, []).append(hunk)
        if self.last.name == name:
            self.versions.pop()
        self.versions.append(Version(name, text, lines))


def _always(name: str) -> OriginOf:
    return lambda _at, _line: name


def _body(skill: Skill) -> str:
    """The text without its regions, which change by their owners' hand only."""
    text = skill.text
    for span in reversed(skill.regions):
        text = text[: span.start] + text[span.end :]
    return text.rstrip()
