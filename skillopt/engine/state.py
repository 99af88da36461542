"""Where a run stands: the current and the best skill with what is known of them, and the history.

A frozen value. What a rule decided changes it in one place, `after`; every other change returns a new state too, and
the trainer holds the only reference that moves on. So what was decided before a stop stands, whatever was under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillopt.core.editing.edit import Edit
from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.json_types import JsonObject
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill, skill_hash
from skillopt.engine.decision import Decision, Measured, Proof
from skillopt.engine.memory import EpochMemory
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.futility import Luck
from skillopt.optimizer.appendix import PendingNote
from skillopt.records.schema import RunState, StepRecord


def guidance_hash(skill: Skill) -> str:
    """Hash of what the target reads: two texts that differ in empty regions only are one guidance."""
    return skill_hash(without_empty_regions(skill.text))


@dataclass(frozen=True)
class TrainState:
    """The trainer's state: a function of recorded answers, so an interrupted run comes to the same one."""

    initial: Measured
    current: Measured
    best: Measured
    current_origin: str = "initial_skill"
    best_origin: str = "initial_skill"
    best_step: int = 0
    history: tuple[StepRecord, ...] = ()
    buffer: tuple[JsonObject, ...] = ()
    changed_outcomes: Mapping[str, int] = field(default_factory=Counter[str])
    """How often a candidate won or lost a unit; orders the gate."""
    pending: tuple[PendingNote, ...] = ()
    """Reminders that are not in the skill: the gate refused them, or could not decide."""
    memory: EpochMemory = field(default_factory=EpochMemory)
    """What goes from one epoch to the next."""
    ledger: AlphaLedger | None = None
    """The error budget of a rule that looks at the selection split to prove something; None under any other."""
    known: Mapping[str, Mapping[str, Rollout]] = field(default_factory=dict[str, "Mapping[str, Rollout]"])
    """Training outcomes by guidance and item: of the current skill, and of the best one to return to."""
    draft_gains: tuple[tuple[float, float], ...] = ()
    """(net gain, losses), as shares of the items tried, of each draft since the last proof."""
    draft_edits: tuple[Edit, ...] = ()
    """The edits that make the draft of the best skill, as far as it is made of edits."""

    luck: Luck = field(default_factory=Luck)
    """What rejected candidates won of the items that the current skill failed."""
    earlier: Proof | None = None
    """What an earlier ending of this run proved: the product until this one proves another."""

    @property
    def product(self) -> Skill:
        """What `best_skill.md` holds."""
        return self.earlier.skill if self.earlier is not None and self.best is self.initial else self.best.skill

    @property
    def is_draft(self) -> bool:
        """True when the target reads a current skill that is not the proven one."""
        return guidance_hash(self.current.skill) != guidance_hash(self.best.skill)

    @property
    def last_step(self) -> int:
        """The last step that is in the history; 0 before the first."""
        return self.history[-1].step if self.history else 0

    def after(self, decision: Decision) -> TrainState:
        """The state once a decision is settled. Steps, notes, epoch ends and the end of a run all pass here."""
        evidence = decision.verdict.evidence
        outcomes = Counter(self.changed_outcomes)
        outcomes.update((*evidence.wins, *evidence.losses))
        luck = self.luck
        if decision.verdict.action == "reject":
            for trial in decision.trials:
                luck = luck.plus(len(trial.verdict.evidence.wins), trial.failing_asked)
        state = replace(self, changed_outcomes=outcomes, ledger=decision.ledger or self.ledger, luck=luck)
        if decision.draft is not None:
            state = state._with_draft(decision.draft, decision)
        if decision.dropped:
            state = state.without_draft()
        if not decision.verdict.accepted or decision.measured in (None, self.current):
            return state
        state = replace(state, current=decision.measured, current_origin=decision.origin)
        return state._proven(decision.step) if decision.promoted else state

    def learned(self, rollouts: Sequence[Rollout]) -> TrainState:
        """Remember training outcomes of the skill they were made with, as far as it is the current or the best one."""
        hashes = {m.skill.hash: guidance_hash(m.skill) for m in (self.current, self.best)}
        known = {h: dict(items) for h, items in self.known.items() if h in hashes.values()}
        for rollout in rollouts:
            if rollout.skill_hash in hashes and rollout.scored is not None:
                known.setdefault(hashes[rollout.skill_hash], {})[rollout.item.id] = rollout
        return replace(self, known=known)

    def trained_on(self) -> dict[str, Rollout]:
        """Training outcomes of the current skill by item, in the order they were made."""
        return dict(self.known.get(guidance_hash(self.current.skill), {}))

    def without_draft(self) -> TrainState:
        """Back to the best skill."""
        return replace(self, current=self.best, current_origin=self.best_origin, draft_gains=(), draft_edits=())

    def remembering(self, **changes: Any) -> TrainState:
        """The state with other fields of the memory between epochs."""
        return replace(self, memory=replace(self.memory, **changes))

    def _with_draft(self, skill: Skill, decision: Decision) -> TrainState:
        """The candidate becomes current without a selection score; its trials become what is known of it."""
        state = replace(
            self,
            current=Measured(skill, (), self.current.metric),
            current_origin=decision.origin,
            draft_edits=decision.edits,
            draft_gains=(*self.draft_gains, *(trial.draft_gain for trial in decision.trials)),
        )
        return state.learned([r for trial in decision.trials for r in trial.rollouts])

    def _proven(self, step: int) -> TrainState:
        """The current skill becomes the best one; what led there starts anew."""
        return replace(
            self, best=self.current, best_origin=self.current_origin, best_step=step, draft_gains=(), draft_edits=()
        )

    def view(self) -> RunState:
        """`runtime_state.json`."""
        last = self.last_step
        return RunState(
            last_completed_step=last,
            current_skill_path=f"skills/skill_v{last:04d}.md",
            current_score=self.current.gate_score,
            current_origin=self.current_origin,
            best_score=self.best.gate_score,
            best_step=self.best_step,
            best_origin=self.best_origin,
        )
