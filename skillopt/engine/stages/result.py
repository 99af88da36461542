"""What one step finds, stage by stage: each stage returns its result, which holds what it was made of.

Frozen values; the views and the record are made of the last of them, `StepResult`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt.core.editing.change import Change, Rewrite
from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.leakage import VetoedEdit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.decision import Decision, Trial
from skillopt.engine.reflection.outcome import AppendixOutcome, DeepReflection
from skillopt.optimizer.autonomous import LrDecision
from skillopt.optimizer.context import Tally
from skillopt.optimizer.race import Proposal, Runner
from skillopt.optimizer.reflect import Group, Reflection
from skillopt.optimizer.select import Selection
from skillopt.records.codec import encode_record
from skillopt.records.schema import CreditRecord
from skillopt.records.step_files import CreditRow
from skillopt.records.vocabulary import Action


@dataclass(frozen=True)
class Credited:
    """Edits that were tried together (usually one) and what came of it; None: they left the skill as it is."""

    edits: tuple[Edit, ...]
    trial: Trial | None

    @property
    def kept(self) -> bool:
        """True when they held their own, or when faults left that open: a fault is no verdict on an edit."""
        return self.trial is not None and (self.trial.passed or self.trial.undecided)

    def record(self) -> CreditRow:
        """A row of `credit.json`."""
        edits = tuple(e.to_json() for e in self.edits)
        return CreditRow(kept=self.kept, edits=edits, trial=self.trial.record() if self.trial else None)


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

    def record(self) -> CreditRecord:
        """Its share of the step record."""
        tried = sum(len(row.edits) for row in self.rows)
        return CreditRecord(edits=tried, kept=tried - len(self.dropped), calls=self.calls)

    def to_json(self) -> dict[str, JsonValue]:
        """`credit.json`."""
        return {"calls": self.calls, "rows": [encode_record(row.record()) for row in self.rows]}


@dataclass(frozen=True)
class Rolled:
    """Stage 1: the outcomes of every accumulated batch, with the same skill."""

    batches: tuple[tuple[Rollout, ...], ...]

    @property
    def all(self) -> tuple[Rollout, ...]:
        """Of all batches."""
        return tuple(r for batch in self.batches for r in batch)


@dataclass(frozen=True)
class Reflected:
    """Stage 2: what analysts made of the outcomes."""

    rolled: Rolled
    samples: tuple[tuple[Reflection, ...], ...]
    """One row a proposal sample, one reflection a batch."""
    deep: tuple[DeepReflection, ...] = ()
    """One a batch, where deep reflection is on; its patches are in `samples` too."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The analysts' groups of all samples and batches."""
        return tuple(g for sample in self.samples for r in sample for g in r.groups)

    @property
    def notes(self) -> tuple[str, ...]:
        """Reminders that the analysts wrote, equal ones included."""
        return tuple(n for sample in self.samples for r in sample for n in r.notes)


Named = tuple[str, Change]
"""A change and the name of the proposal it belongs to."""


@dataclass(frozen=True)
class Merged:
    """Stage 3: one change a sample, or a group's patch for itself in the compact profile."""

    reflected: Reflected
    changes: tuple[Named, ...]


@dataclass(frozen=True)
class Selected:
    """Stage 4: the changes cut to the budget; those of which something is left."""

    reflected: Reflected
    changes: tuple[Named, ...]
    merged: Change
    """The first change before it was cut that left something, else the last one; empty when there was none."""
    selection: Selection | None
    """How that one was cut; None where whole documents have no budget."""
    budget: int | None
    lr_decision: LrDecision | None = None


@dataclass(frozen=True)
class Built:
    """Stage 5: the candidate, without what leaks, and the race that picked it. No candidate: why not."""

    selected: Selected
    proposal: Proposal | None = None
    rewrite: Rewrite | None = None
    """Of the proposal, or of the first one when none had usable text."""
    vetoed: tuple[VetoedEdit, ...] = ()
    runners: tuple[Runner, ...] = ()
    skip_reason: str = ""
    skip_action: Action = Action.SKIP_NO_PATCHES

    @property
    def reflected(self) -> Reflected:
        """What it was made of."""
        return self.selected.reflected

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        """The outcomes that it was made of."""
        return self.selected.reflected.rolled.all


@dataclass(frozen=True)
class Judged:
    """Stage 6: what each edit did alone, where that was asked, and the gate's decision; None without a candidate."""

    built: Built
    """With the candidate that the decision is about: what credit and pruning left of it."""
    decision: Decision | None = None
    credit: Credit | None = None
    first: Decision | None = None
    """The rejection of the whole patch, when what held its own alone went to the gate once more."""


@dataclass(frozen=True)
class StepResult:
    """Everything that one step found."""

    plan: StepPlan
    skill: Skill
    """The one that the step worked on."""
    tally: Tally
    judged: Judged
    notes: AppendixOutcome | None = None
    """What became of the step's reminders, where reflection is skill-aware."""

    @property
    def built(self) -> Built:
        """The candidate and what it was made of."""
        return self.judged.built

    @property
    def selected(self) -> Selected:
        """The changes that the candidate was made of."""
        return self.built.selected

    @property
    def reflected(self) -> Reflected:
        """What the analysts said."""
        return self.built.reflected

    @property
    def rollouts(self) -> tuple[Rollout, ...]:
        """The outcomes of all accumulated batches."""
        return self.built.rollouts

    @property
    def decision(self) -> Decision | None:
        """The gate's, about the step's candidate."""
        return self.judged.decision

    @property
    def accepted(self) -> bool:
        """True when the step changed the current skill: by its candidate, by its notes, or by both."""
        return (self.decision is not None and self.decision.kept) or (self.notes is not None and self.notes.kept)

    @property
    def action(self) -> Action:
        """The record's action: the gate's verdict, or the skip."""
        return self.decision.action if self.decision else self.built.skip_action


@dataclass(frozen=True)
class Upcoming:
    """The step after this one: its plan, its schedule's total, and the buffer it will see if this one is rejected.

    `skill` is the one it will work with then, None when an epoch's end makes that unforeseeable; `predictable` is False
    when its optimizer prompts cannot be known yet.
    """

    plan: StepPlan
    total_steps: int
    buffer_if_rejected: Callable[[Built], Sequence[JsonObject]]
    skill: Skill | None
    predictable: bool
    meta_skill: str
