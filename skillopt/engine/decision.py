"""What is known of a text after it was measured: its outcomes, a trial's verdict, a rule's decision.

Values only. A score is never stored apart from its bytes: `Measured` binds a skill to the rollouts that were made with
exactly its text (invariant I1). A `Decision` says all that it changes, so that `TrainState.after` needs no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.editing.edit import Edit
from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.core.outcome import Score, compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.metric import Metric
from skillopt.gate.strict import Unit
from skillopt.gate.verdict import Verdict
from skillopt.records.schema import DensityRecord, GateRecord, TrialRecord
from skillopt.records.vocabulary import Action


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


@dataclass(frozen=True)
class Trial:
    """A candidate against the current skill on training items. `rollouts` are complete only when it passed."""

    passed: bool
    verdict: Verdict
    rollouts: tuple[Rollout, ...]
    failing_asked: int = 0
    """Items asked that the current skill fails."""

    @property
    def undecided(self) -> bool:
        """True when too much is missing: nothing was found out, for or against."""
        return self.verdict.action == "undecided"

    @property
    def draft_gain(self) -> tuple[float, float]:
        """(net gain, losses) as shares of the items."""
        evidence = self.verdict.evidence
        tried = max(1, evidence.total)
        return (len(evidence.wins) - len(evidence.losses)) / tried, len(evidence.losses) / tried

    def record(self) -> TrialRecord:
        """What a record says of it."""
        evidence = self.verdict.evidence
        return TrialRecord(
            passed=self.passed,
            wins=evidence.wins,
            losses=evidence.losses,
            n=evidence.total,
            evaluated_n=evidence.evaluated,
            reason=self.verdict.reason,
        )


@dataclass(frozen=True)
class Proof:
    """A text that an earlier ending of this run proved, with the tag of what made it and its last step."""

    skill: Skill
    origin: str
    step: int


@dataclass(frozen=True)
class Decision:
    """What a rule decided about a candidate, what it rests on, and all that it changes.

    `rollouts` are those of the selection split, in file order; `measured` is None unless that evaluation was complete.
    Rules that climb on training items add trials (the candidate's, and the pruned draft's), the draft that is left with
    the edits since the last proof that made it, and what pruning took out and asked.
    """

    skill: Skill
    """As proposed."""
    origin: str
    """Tag of what made it."""
    step: int
    """The last step taken."""
    verdict: Verdict
    rollouts: tuple[Rollout, ...] = ()
    measured: Measured | None = None
    """Becomes current when the verdict accepts."""
    promoted: bool = False
    """Whether it becomes the best skill as well."""
    trials: tuple[Trial, ...] = ()
    draft: Skill | None = None
    """Becomes current without a selection score."""
    edits: tuple[Edit, ...] = ()
    removed: tuple[Edit, ...] = ()
    extra: tuple[Rollout, ...] = ()
    dropped: bool = False
    """Whether the draft is given up: back to the best skill."""
    ledger: AlphaLedger | None = None
    """The error budget after a look; None when no look was taken."""

    @property
    def looked(self) -> bool:
        """True when the selection split was looked at to prove something."""
        return self.ledger is not None

    @property
    def kept(self) -> bool:
        """True when the next step starts from the candidate: proven, or a draft."""
        return self.verdict.accepted or (self.draft is not None and not self.dropped)

    @property
    def decided_on(self) -> Skill:
        """The text that the verdict is about: the candidate, or what pruning left of it."""
        return self.draft or self.skill

    @property
    def action(self) -> Action:
        """What becomes of the candidate."""
        return Action(self.verdict.action)

    def record(self) -> GateRecord:
        """The one record of a decision: of a step, of its notes, of an epoch's end, of the last look."""
        verdict, evidence = self.verdict, self.verdict.evidence
        score = self.measured.score if self.measured else None
        density = verdict.density
        return GateRecord(
            action=self.action,
            reason=verdict.reason,
            proven=self.action.proven,
            changed_current=self.kept,
            candidate_hash=self.decided_on.hash,
            candidate_skill_len=len(self.decided_on.text),
            selection_hard=score.hard if score else None,
            selection_soft=score.soft if score else None,
            candidate_gate_score=verdict.score,
            wins=evidence.wins,
            losses=evidence.losses,
            evaluated_n=evidence.evaluated,
            selection_n=evidence.total,
            n_missing=evidence.missing,
            coverage=round(evidence.coverage, 6),
            early_stopped=evidence.early_stopped,
            score_bound=evidence.bound,
            interval=evidence.interval,
            p=evidence.p,
            alpha=evidence.alpha,
            semantic_density=DensityRecord(candidate_bonus=density[0], current_bonus=density[1]) if density else None,
            trial=self.trials[0].record() if self.trials else None,
            pruned=tuple(e.to_json() for e in self.removed),
            alpha_left=self.ledger.left if self.ledger else None,
        )
