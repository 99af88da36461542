"""What one step finds, stage by stage: filled by `engine.step` and `engine.candidates`, read by the views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.edit import Patch
from skillopt.core.leakage import LeakedEdit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.measure import GateResult
from skillopt.optimizer.context import Tally
from skillopt.optimizer.race import Proposal, Runner
from skillopt.optimizer.reflect import Reflection
from skillopt.optimizer.select import Selection


@dataclass
class StepWork:
    """Everything one step found, stage by stage; the views and the record are made of it."""

    plan: StepPlan
    skill: Skill
    budget: int | None
    rollouts: list[list[Rollout]] = field(default_factory=list["list[Rollout]"])
    reflections: list[list[Reflection]] = field(default_factory=list["list[Reflection]"])
    """One list a proposal sample, one reflection a batch."""
    merged: Patch = field(default_factory=Patch)
    selection: Selection | None = None
    leaked: list[LeakedEdit] = field(default_factory=list[LeakedEdit])
    runners: list[Runner] = field(default_factory=list[Runner])
    proposal: Proposal | None = None
    gated: GateResult | None = None
    skip_reason: str = ""
    tally: Tally = field(default_factory=Tally)

    @property
    def all_rollouts(self) -> list[Rollout]:
        """The rollouts of all accumulated batches."""
        return [r for batch in self.rollouts for r in batch]

    @property
    def action(self) -> str:
        """The record's action: the gate's verdict, or the skip."""
        return self.gated.verdict.action if self.gated else "skip_no_patches"


@dataclass(frozen=True)
class Upcoming:
    """The step after this one: its plan, its schedule's total, and the buffer it will see if this one is rejected."""

    plan: StepPlan
    total_steps: int
    buffer_if_rejected: Callable[[StepWork], list[dict[str, Any]]]
