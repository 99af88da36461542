"""What came of reflection beside the step's analysts: of a deep reflection, and of the step's reminders."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.leakage import VetoedEdit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.decision import Decision
from skillopt.engine.stages.vetoes import veto_rows
from skillopt.optimizer.appendix import PendingNote, new_notes
from skillopt.optimizer.deep_reflect import Probe
from skillopt.optimizer.reflect import Group
from skillopt.records.schema import DeepRecord, GateRecord, NotesRecord
from skillopt.records.vocabulary import Action


@dataclass(frozen=True)
class DeepReflection:
    """What a deep reflection came to. `warning` says which patches are missing and why; blank when all went well."""

    chosen: tuple[str, ...] = ()
    probe: Probe | None = None
    rollouts: tuple[Rollout, ...] = ()
    groups: tuple[Group, ...] = ()
    warning: str = ""

    @property
    def n_patches(self) -> int:
        """Patches with at least one item."""
        return sum(g.reply is not None and bool(g.reply.patch.items) for g in self.groups)

    def to_json(self) -> dict[str, JsonValue]:
        """`probe.json`."""
        probe: JsonObject = self.probe.to_json() if self.probe else {"reasoning": "", "probe_instruction": None}
        return {**probe, "item_ids": list(self.chosen), "warning": self.warning}

    def record(self) -> DeepRecord:
        """Its share of the step record."""
        return DeepRecord(
            n_items=len(self.chosen), n_rerun=len(self.rollouts), n_patches=self.n_patches, warning=self.warning
        )


BYPASS = "reminders pass the gate by (optimizer.skill_aware_gate_with_selection: false): kept as measured"


@dataclass(frozen=True)
class AppendixOutcome:
    """What became of one step's notes, as far as it is known: a stop leaves a true account."""

    step: int
    proposed: tuple[str, ...]
    """Of all replies of the step, equal ones included."""
    before: tuple[str, ...]
    """The appendix that the step found."""
    after: tuple[str, ...]
    pending: tuple[PendingNote, ...] = ()
    """Notes that are not in the skill, of this step and of earlier ones."""
    tried: tuple[str, ...] = ()
    """The notes of the text that was measured."""
    consolidated: int = 0
    """By how many notes the list was shortened in the text that was measured."""
    not_consolidated: str = ""
    vetoed: tuple[VetoedEdit, ...] = ()
    candidate: Skill | None = None
    decision: Decision | None = None
    forced: bool = False
    reason: str = ""

    @property
    def kept(self) -> bool:
        """True when the notes entered the skill."""
        return self.decision is not None and self.decision.kept

    @property
    def refused(self) -> tuple[str, ...]:
        """The notes that the gate refused in this step."""
        last = self.candidate.hash if self.candidate else None
        return tuple(p.note for p in self.pending if p.refused and p.refused == last)

    @property
    def added(self) -> int:
        """Notes in the appendix that were not there before."""
        return len(new_notes(self.before, self.after))

    def record(self) -> NotesRecord:
        """Their share of the step record. `appendix` says which text was measured, if one was, and how it fared."""
        measured = self.decision.record() if self.decision is not None else GateRecord(action=Action.NOT_TRIED)
        return NotesRecord(
            n_execution_lapse_notes=len(self.proposed),
            n_appendix_notes_added=self.added,
            n_appendix_notes_total=len(self.after),
            n_appendix_notes_consolidated=self.consolidated if self.kept else 0,
            n_appendix_notes_pending=len(self.pending),
            appendix=replace(measured, reason=self.reason, gate_bypassed=self.forced),
        )

    def to_json(self) -> dict[str, JsonValue]:
        """`appendix_notes.json`."""
        return {
            "step_notes": list(self.proposed),
            "appendix_before": list(self.before),
            "tried": list(self.tried),
            "appendix_after": list(self.after),
            "pending": [p.to_json() for p in self.pending],
            "n_consolidated": self.consolidated,
            "not_consolidated": self.not_consolidated,
            "vetoed": veto_rows(self.vetoed),
            "action": self.decision.action.value if self.decision else None,
            "gate_bypassed": self.forced,
            "measured_hash": self.candidate.hash if self.candidate and self.decision else None,
        }
