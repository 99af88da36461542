"""Where a run stands: the current and the best skill with the outcomes they were measured on, and the history.

A score is never stored apart from its bytes: `Measured` binds a skill to the rollouts that were made with exactly its
text (invariant I1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.core.outcome import Score, compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.memory import EpochMemory
from skillopt.gate.metric import Metric
from skillopt.gate.strict import Unit
from skillopt.optimizer.appendix import PendingNote


def unit_name(item_id: str, repeat: int, repeats: int) -> str:
    """Name of one paired measurement."""
    return item_id if repeats == 1 else f"{item_id}#{repeat}"


@dataclass(frozen=True)
class Measured:
    """A skill with its complete measurement on the selection split, in file order. Raises on foreign rollouts."""

    skill: Skill
    rollouts: tuple[Rollout, ...]
    metric: Metric

    def __post_init__(self) -> None:
        foreign = [r for r in self.rollouts if r.skill_hash != self.skill.hash]
        if foreign:
            raise SkillOptError(
                f"rollout of {foreign[0].item.id!r} was made with skill {foreign[0].skill_hash}, not {self.skill.hash}"
            )

    @property
    def gate_score(self) -> float | None:
        """Mean of the gate metric over what was measured."""
        return self.metric.mean([r.outcome for r in self.rollouts])

    @property
    def score(self) -> Score | None:
        """Hard and soft means with n and coverage."""
        return compute_score(r.outcome for r in self.rollouts)

    def units(self, items: Sequence[Item], repeats: int) -> list[Unit]:
        """The gate's paired units, in file order."""
        known = {(r.item.id, r.repeat): self.metric.value(r.outcome) for r in self.rollouts}
        return [
            Unit(n * repeats + k, unit_name(item.id, k, repeats), known[item.id, k], item.id)
            for n, item in enumerate(items)
            for k in range(repeats)
        ]


@dataclass
class Standing:
    """The trainer's state. Changed between steps only, by `engine.trainer`."""

    initial: Measured
    current: Measured
    best: Measured
    current_origin: str = "initial_skill"
    best_origin: str = "initial_skill"
    best_step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    buffer: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    flips: Counter[str] = field(default_factory=Counter[str])
    """How often a candidate won or lost a unit; orders the gate."""
    pending: list[PendingNote] = field(default_factory=list[PendingNote])
    """Reminders that are not in the skill: the gate refused them, or could not decide."""
    memory: EpochMemory = field(default_factory=EpochMemory)
    """What goes from one epoch to the next."""

    def view(self) -> Mapping[str, Any]:
        """`runtime_state.json`."""
        last = self.history[-1]["step"] if self.history else 0
        return {
            "last_completed_step": last,
            "current_skill_path": f"skills/skill_v{last:04d}.md",
            "current_score": self.current.gate_score,
            "current_origin": self.current_origin,
            "best_skill_path": "best_skill.md",
            "best_score": self.best.gate_score,
            "best_step": self.best_step,
            "best_origin": self.best_origin,
        }
