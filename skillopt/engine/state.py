"""Where a run stands: the current and the best skill with the outcomes they were measured on, and the history.

A score is never stored apart from its bytes: `Measured` binds a skill to the rollouts that were made with exactly its
text (invariant I1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.edit import Edit
from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.core.outcome import Score, compute_score
from skillopt.core.regions import without_empty_regions
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill, skill_hash
from skillopt.engine.memory import EpochMemory
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.metric import Metric
from skillopt.gate.strict import Unit
from skillopt.gate.verdict import Verdict
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
    bonus: float = 0.0
    """What the strict gate adds to the score for the text's leading words (`gate.density`); part of no score."""

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
    def rank(self) -> float | None:
        """What the strict gate compares: the gate score with the bonus."""
        return None if self.gate_score is None else self.gate_score + self.bonus

    @property
    def score(self) -> Score | None:
        """Hard and soft means with n and coverage; None for a draft, which was not measured."""
        return compute_score(r.outcome for r in self.rollouts) if self.rollouts else None

    def units(self, items: Sequence[Item], repeats: int) -> list[Unit]:
        """The gate's paired units, in file order; draw k of an item is the k-th that was made of it."""
        known: dict[str, list[float | None]] = {}
        for rollout in self.rollouts:
            known.setdefault(rollout.item.id, []).append(self.metric.value(rollout.outcome))
        return [
            Unit(n * repeats + k, unit_name(item.id, k, repeats), known[item.id][k], item.id)
            for n, item in enumerate(items)
            for k in range(repeats)
        ]


def guidance_hash(skill: Skill) -> str:
    """Hash of what the target reads: two texts that differ in empty regions only are one guidance."""
    return skill_hash(without_empty_regions(skill.text))


@dataclass(frozen=True)
class Trial:
    """A candidate against the current skill on training items. `rollouts` are complete only when it passed."""

    passed: bool
    verdict: Verdict
    rollouts: tuple[Rollout, ...]

    @property
    def undecided(self) -> bool:
        """True when too few items could be measured: nothing was found out, for or against."""
        return self.verdict.action == "undecided"

    @property
    def draft_gain(self) -> tuple[float, float]:
        """(net gain, losses) as shares of the items."""
        evidence = self.verdict.evidence
        tried = max(1, evidence.total)
        return (len(evidence.wins) - len(evidence.losses)) / tried, len(evidence.losses) / tried

    def to_json(self) -> dict[str, Any]:
        """What a record says of it."""
        evidence = self.verdict.evidence
        return {
            "passed": self.passed,
            "wins": list(evidence.wins),
            "losses": list(evidence.losses),
            "n": evidence.total,
            "evaluated_n": evidence.evaluated,
            "reason": self.verdict.reason,
        }


@dataclass(frozen=True)
class GateResult:
    """A verdict with the rollouts it rests on, in file order. `measured` is None unless the evaluation was complete.

    The paired rule adds its trials on training items (the candidate's, and the pruned draft's), the draft that is left
    with the edits since the last proof that made it, what pruning took out and asked, whether a draft was given up, and
    the error budget after the look (None: no look was taken).
    """

    verdict: Verdict
    rollouts: tuple[Rollout, ...]
    measured: Measured | None
    trials: tuple[Trial, ...] = ()
    draft: Skill | None = None
    edits: tuple[Edit, ...] = ()
    removed: tuple[Edit, ...] = ()
    extra: tuple[Rollout, ...] = ()
    dropped: bool = False
    ledger: AlphaLedger | None = None

    @property
    def kept(self) -> bool:
        """True when the next step starts from the candidate: proven, or a draft."""
        return self.verdict.accepted or (self.draft is not None and not self.dropped)

    def to_json(self) -> dict[str, Any]:
        """The verdict's fields for a record, with trial and error budget under the paired rule."""
        body = self.verdict.to_json()
        if self.trials or self.ledger is not None:
            body["trial"] = self.trials[0].to_json() if self.trials else None
            body["pruned"] = [e.to_json() for e in self.removed]
            body["kept_as_draft"] = self.kept and not self.verdict.accepted
            body["alpha_left"] = self.ledger.left if self.ledger else None
        return body


@dataclass
class TrainState:
    """The trainer's state. Changed between steps only, by `engine.trainer`."""

    initial: Measured
    current: Measured
    best: Measured
    current_origin: str = "initial_skill"
    best_origin: str = "initial_skill"
    best_step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    buffer: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    changed_outcomes: Counter[str] = field(default_factory=Counter[str])
    """How often a candidate won or lost a unit; orders the gate."""
    pending: list[PendingNote] = field(default_factory=list[PendingNote])
    """Reminders that are not in the skill: the gate refused them, or could not decide."""
    memory: EpochMemory = field(default_factory=EpochMemory)
    """What goes from one epoch to the next."""
    ledger: AlphaLedger | None = None
    """The error budget of the paired rule; None under the strict one."""
    known: dict[str, dict[str, Rollout]] = field(default_factory=dict[str, "dict[str, Rollout]"])
    """Training outcomes by guidance and item: of the current skill, and of the best one to return to."""
    draft_gains: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """(net gain, losses), as shares of the items tried, of each draft since the last proof."""
    draft_edits: tuple[Edit, ...] = ()
    """The edits that make the draft of the best skill, as far as it is made of edits."""

    @property
    def is_draft(self) -> bool:
        """True when the target reads a current skill that is not the proven one."""
        return guidance_hash(self.current.skill) != guidance_hash(self.best.skill)

    def learn(self, rollouts: Sequence[Rollout]) -> None:
        """Remember training outcomes of the skill they were made with, as far as it is the current or the best one."""
        hashes = {m.skill.hash: guidance_hash(m.skill) for m in (self.current, self.best)}
        for rollout in rollouts:
            if rollout.skill_hash in hashes and rollout.scored is not None:
                self.known.setdefault(hashes[rollout.skill_hash], {})[rollout.item.id] = rollout
        self.known = {h: items for h, items in self.known.items() if h in hashes.values()}

    def trained_on(self) -> dict[str, Rollout]:
        """Training outcomes of the current skill by item, in the order they were made."""
        return dict(self.known.get(guidance_hash(self.current.skill), {}))

    def take_draft(self, skill: Skill, trials: Sequence[Trial], edits: tuple[Edit, ...], origin: str) -> None:
        """The candidate becomes current without a selection score; its trials become what is known of it."""
        self.current, self.current_origin = Measured(skill, (), self.current.metric), origin
        self.draft_edits = edits
        for trial in trials:
            self.draft_gains.append(trial.draft_gain)
            self.learn(trial.rollouts)

    def prove(self, step: int) -> None:
        """The current skill becomes the best one; what led there starts anew."""
        self.best, self.best_origin, self.best_step = self.current, self.current_origin, step
        self.draft_gains.clear()
        self.draft_edits = ()

    def drop_draft(self) -> None:
        """Back to the best skill."""
        self.current, self.current_origin = self.best, self.best_origin
        self.draft_gains.clear()
        self.draft_edits = ()

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
