"""What one step finds, stage by stage: filled by `engine.step` and `engine.candidates`, read by the views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.change import Change, Rewrite
from skillopt.core.edit import Edit, Patch
from skillopt.core.leakage import VetoedEdit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.state import GateResult, Trial
from skillopt.optimizer.appendix import PendingNote, new_notes
from skillopt.optimizer.autonomous import LrDecision
from skillopt.optimizer.context import Tally
from skillopt.optimizer.deep_reflect import Probe
from skillopt.optimizer.race import Proposal, Runner
from skillopt.optimizer.reflect import Group, Reflection
from skillopt.optimizer.select import Selection


@dataclass(frozen=True)
class Credited:
    """Edits that were tried together (usually one) and what came of it; None: they left the skill as it is."""

    edits: tuple[Edit, ...]
    trial: Trial | None

    @property
    def kept(self) -> bool:
        """True when they held their own, or when faults left that open: a fault is no verdict on an edit."""
        return self.trial is not None and (self.trial.passed or self.trial.undecided)

    def to_json(self) -> dict[str, Any]:
        """A row of `credit.json`."""
        body: dict[str, Any] = {"kept": self.kept, "edits": [e.to_json() for e in self.edits]}
        return {**body, "trial": self.trial.to_json() if self.trial else None}


@dataclass(frozen=True)
class Credit:
    """The credit of a step's candidate, and the proposal that is left of it (None: no edit held its own)."""

    rows: tuple[Credited, ...] = ()
    proposal: Proposal | None = None
    calls: int = 0

    @property
    def dropped(self) -> tuple[Edit, ...]:
        """Edits that did not hold their own."""
        return tuple(e for row in self.rows if not row.kept for e in row.edits)

    def to_json(self) -> dict[str, Any]:
        """`credit.json`."""
        return {"calls": self.calls, "rows": [row.to_json() for row in self.rows]}


@dataclass(frozen=True)
class DeepReflection:
    """What it came to. `warning` says why there are no patches, or which are missing; blank when all went well."""

    chosen: tuple[str, ...] = ()
    probe: Probe | None = None
    rollouts: tuple[Rollout, ...] = ()
    groups: tuple[Group, ...] = ()
    warning: str = ""

    @property
    def n_patches(self) -> int:
        """Patches with at least one item."""
        return sum(g.reply is not None and bool(g.reply.patch.items) for g in self.groups)

    def to_json(self) -> dict[str, Any]:
        """`probe.json`."""
        probe = self.probe.to_json() if self.probe else {"reasoning": "", "probe_instruction": None}
        return {**probe, "item_ids": list(self.chosen), "warning": self.warning}

    def fields(self) -> dict[str, Any]:
        """Its share of the step record."""
        return {"n_items": len(self.chosen), "n_rerun": len(self.rollouts), "n_patches": self.n_patches,
                "warning": self.warning}  # fmt: skip


BYPASS = "reminders pass the gate by (optimizer.skill_aware_gate_with_selection: false): kept as measured"


@dataclass
class AppendixOutcome:
    """What became of one step's notes; filled in as it happens, so that a stop leaves a true account."""

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
    vetoed: list[VetoedEdit] = field(default_factory=list[VetoedEdit])
    candidate: Skill | None = None
    gated: GateResult | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Hash, scores and verdict of the candidate, once it was measured."""
    forced: bool = False
    reason: str = ""

    @property
    def kept(self) -> bool:
        """True when the notes entered the skill."""
        return self.gated is not None and self.gated.kept

    @property
    def refused(self) -> tuple[str, ...]:
        """The notes that the gate refused in this step."""
        last = self.candidate.hash if self.candidate else None
        return tuple(p.note for p in self.pending if p.refused and p.refused == last)

    @property
    def added(self) -> int:
        """Notes in the appendix that were not there before."""
        return len(new_notes(self.before, self.after))

    def fields(self) -> dict[str, Any]:
        """Their share of the step record. `appendix` says which text was measured, if one was, and how it fared."""
        verdict: dict[str, Any] = {"action": None, **self.verdict, "reason": self.reason}
        return {
            "n_execution_lapse_notes": len(self.proposed),
            "n_appendix_notes_added": self.added,
            "n_appendix_notes_total": len(self.after),
            "n_appendix_notes_consolidated": self.consolidated if self.kept else 0,
            "n_appendix_notes_pending": len(self.pending),
            "appendix": {"gate_bypassed": self.forced, **verdict},
        }

    def to_json(self) -> dict[str, Any]:
        """`appendix_notes.json`."""
        return {
            "step_notes": list(self.proposed),
            "appendix_before": list(self.before),
            "tried": list(self.tried),
            "appendix_after": list(self.after),
            "pending": [p.to_json() for p in self.pending],
            "n_consolidated": self.consolidated,
            "not_consolidated": self.not_consolidated,
            "vetoed": [leak.to_json() for leak in self.vetoed],
            "action": self.gated.verdict.action if self.gated else None,
            "gate_bypassed": self.forced,
            "measured_hash": self.candidate.hash if self.candidate and self.gated else None,
        }


@dataclass
class StepWork:
    """Everything one step found, stage by stage; the views and the record are made of it."""

    plan: StepPlan
    skill: Skill
    budget: int | None
    buffer_text: str = ""
    """What the earlier steps of the epoch tried, as prompts show it."""
    rollouts: list[list[Rollout]] = field(default_factory=list["list[Rollout]"])
    reflections: list[list[Reflection]] = field(default_factory=list["list[Reflection]"])
    """One list a proposal sample, one reflection a batch."""
    merged: Change = field(default_factory=Patch)
    lr_decision: LrDecision | None = None
    selection: Selection | None = None
    vetoed: list[VetoedEdit] = field(default_factory=list[VetoedEdit])
    runners: list[Runner] = field(default_factory=list[Runner])
    proposal: Proposal | None = None
    rewrite: Rewrite | None = None
    """Of the proposal, or of the first one when none had usable text."""
    credit: Credit | None = None
    """What each edit did alone, where that was asked."""
    first_gated: GateResult | None = None
    """The rejection of the whole patch, when what held its own alone went to the gate once more."""
    gated: GateResult | None = None
    deep: list[DeepReflection] = field(default_factory=list[DeepReflection])
    """One a batch, where deep reflection is on; its patches are in `reflections` too."""
    flush: AppendixOutcome | None = None
    """What became of the step's notes, where reflection is skill-aware."""
    skip_reason: str = ""
    held_back: str = ""
    """Why the candidate did not reach the gate, where credit left nothing of it."""
    skip_action: str = "skip_no_patches"
    tally: Tally = field(default_factory=Tally)

    @property
    def all_rollouts(self) -> list[Rollout]:
        """The rollouts of all accumulated batches."""
        return [r for batch in self.rollouts for r in batch]

    @property
    def accepted(self) -> bool:
        """True when the step changed the current skill: by its candidate, by its notes, or by both."""
        return (self.gated is not None and self.gated.kept) or (self.flush is not None and self.flush.kept)

    @property
    def action(self) -> str:
        """The record's action: the gate's verdict, or the skip."""
        return self.gated.verdict.action if self.gated else self.skip_action


@dataclass(frozen=True)
class Upcoming:
    """The step after this one: its plan, its schedule's total, and the buffer it will see if this one is rejected.

    `skill` is the one it will work with then, None when an epoch's end makes that unforeseeable; `predictable` is False
    when its optimizer prompts cannot be known yet.
    """

    plan: StepPlan
    total_steps: int
    buffer_if_rejected: Callable[[StepWork], list[dict[str, Any]]]
    skill: Skill | None
    predictable: bool
    meta_skill: str
