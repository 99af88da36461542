"""What one step finds, stage by stage: filled by `engine.step` and `engine.candidates`, read by the views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.change import Change, Rewrite
from skillopt.core.edit import Edit, Patch
from skillopt.core.leakage import LeakedEdit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.reflection.appendix_record import Flush
from skillopt.engine.reflection.deep import DeepReflection
from skillopt.engine.state import GateResult, Trial
from skillopt.optimizer.autonomous import LrDecision
from skillopt.optimizer.context import Tally
from skillopt.optimizer.race import Proposal, Runner
from skillopt.optimizer.reflect import Reflection
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
    leaked: list[LeakedEdit] = field(default_factory=list[LeakedEdit])
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
    flush: Flush | None = None
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

    `skill` is the one it will work with then, None when an epoch's end makes that unforeseeable; `foreseen` is False
    when its optimizer prompts cannot be known yet.
    """

    plan: StepPlan
    total_steps: int
    buffer_if_rejected: Callable[[StepWork], list[dict[str, Any]]]
    skill: Skill | None
    foreseen: bool
    meta_skill: str
