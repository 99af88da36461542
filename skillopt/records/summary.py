"""`summary.json` as a record: what a run came to, with n, coverage and interval beside every score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import OMIT, decode, encode_record
from skillopt.records.epoch import EpochRecord
from skillopt.records.gate import GateRecord
from skillopt.records.vocabulary import Action, Stage


@dataclass(frozen=True, kw_only=True)
class ScoreSummary:
    """Means over what was measured, with the 95 % interval of the mean of the gate's metric; nulls with a reason where
    nothing was. `value` is that mean where the metric is not `hard`."""

    hard: float | None = None
    soft: float | None = None
    n: int = 0
    total: int = 0
    coverage: float = 0.0
    interval: tuple[float, float] | None = None
    reason: str = field(default="", metadata=OMIT)
    metric: str = field(default="hard", metadata=OMIT)
    value: float | None = field(default=None, metadata=OMIT)

    @property
    def shown(self) -> float | None:
        """The mean that the interval is of."""
        return self.hard if self.metric == "hard" else self.value


@dataclass(frozen=True, kw_only=True)
class TypeScore:
    """Hard accuracy of one task type, or `overall`; `value` is the mean of the gate's metric where that is another."""

    total: int = 0
    hard_acc: float | None = None
    value: float | None = field(default=None, metadata=OMIT)

    @property
    def shown(self) -> float | None:
        """The mean that tables show."""
        return self.hard_acc if self.value is None else self.value


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Best minus initial over items that both have measured, with an exact two-sided sign test."""

    n: int
    wins: int = 0
    losses: int = 0
    delta: float = 0.0
    interval: tuple[float, float]
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class Attrition:
    """Items that each side lost to faults."""

    initial: int = 0
    best: int = 0


@dataclass(frozen=True, kw_only=True)
class PairedSummary(Difference):
    """The comparison that the verdict rests on. `void` when one side lost many more items than the other."""

    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    by_type: Mapping[str, Difference] = field(default_factory=dict[str, Difference])
    attrition: Attrition = field(default_factory=Attrition)
    attrition_gap: float = 0.0
    void: bool = False
    metric: str = field(default="hard", metadata=OMIT)
    """The gate's metric, of which this is the difference; left out for hard."""


@dataclass(frozen=True, kw_only=True)
class EpochStats:
    """One epoch in counts, with what its end decided."""

    epoch: int
    steps: int = 0
    accepts: int = 0
    rejects: int = 0
    skips: int = 0
    drafts: int = 0
    undecided: int = 0
    draft_review: Action | None = field(default=None, metadata=OMIT)
    slow_update: Action | None = field(default=None, metadata=OMIT)
    meta_skill: Action | None = field(default=None, metadata=OMIT)
    meta_reflect: Action | None = field(default=None, metadata=OMIT)
    best_score_at_epoch_end: float | None = None
    current_score_at_epoch_end: float | None = None


@dataclass(frozen=True, kw_only=True)
class EpochEnd:
    """What one mechanism at an epoch's end came to, in short."""

    stage: Stage
    epoch: int
    action: Action
    reason: str = ""
    changed_current: bool = False
    candidate_gate_score: float | None = None
    evaluated_n: int | None = None
    selection_n: int | None = None
    current_score: float | None = None
    best_score: float | None = None
    n_dropped_replies: int = 0

    @classmethod
    def of(cls, record: EpochRecord) -> EpochEnd:
        """The row of a result."""
        gate = record.gate
        return cls(
            stage=record.stage, epoch=record.epoch, action=gate.action, reason=gate.reason,
            changed_current=gate.changed_current, candidate_gate_score=gate.candidate_gate_score,
            evaluated_n=gate.evaluated_n, selection_n=gate.selection_n, current_score=record.current_score,
            best_score=record.best_score, n_dropped_replies=record.n_dropped_replies,
        )  # fmt: skip

    @classmethod
    def upgrade(cls, raw: JsonObject) -> JsonObject:
        """Version 1 did not say whether the current skill had changed; a draft at an epoch's end was `undecided`."""
        if "changed_current" in raw:
            return raw
        body = dict(raw)
        if body.get("action") == Action.UNDECIDED.value and "kept as a draft" in str(body.get("reason", "")):
            body["action"] = Action.DRAFT.value
        name = str(body.get("action"))
        return {**body, "changed_current": name in {str(a) for a in Action if a.kept}}


@dataclass(frozen=True)
class TokenTotal:
    """Calls of one stage over the whole run; None is unknown, never 0."""

    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class RoleCost:
    """Model and list price of one role's calls."""

    model: str = ""
    usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class CostSummary:
    """Money at list prices; None is unknown."""

    usd: float | None = None
    by_role: Mapping[str, RoleCost] = field(default_factory=dict[str, RoleCost])
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PointCost:
    """What one percentage point of the sealed test's gain cost."""

    points: float
    tokens: int | None = None
    usd: float | None = None


_NONE = ScoreSummary()


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The end of a run. `stopped` says why it ended early. `total_accepts` counts candidates that became current
    proven or without a gate, `total_drafts` those that were kept to be proven later."""

    version: int = 1
    config: str = "config.json"
    baseline_selection_hard: float | None = None
    best_selection_hard: float | None = None
    best_gate_score: float | None = None
    final_selection_hard: float | None = None
    final_selection_soft: float | None = None
    baseline_selection: ScoreSummary = _NONE
    best_selection: ScoreSummary = _NONE
    selection: ScoreSummary = _NONE
    best_step: int = 0
    current_origin: str = "initial_skill"
    best_origin: str = "initial_skill"
    initial_skill_hash: str = ""
    best_skill_hash: str = ""
    planned_steps: int = 0
    total_steps: int = 0
    total_accepts: int = 0
    total_rejects: int = 0
    total_skips: int = 0
    total_drafts: int = 0
    total_undecided: int = 0
    epoch_stats: tuple[EpochStats, ...] = ()
    epoch_ends: tuple[EpochEnd, ...] = ()
    baseline_test_hard: float | None = None
    baseline_test_soft: float | None = None
    test_hard: float | None = None
    test_soft: float | None = None
    final_test_hard: float | None = None
    final_test_soft: float | None = None
    test_delta_hard: float | None = None
    final_test_delta_hard: float | None = None
    baseline_test: ScoreSummary = _NONE
    test: ScoreSummary = _NONE
    final_test: ScoreSummary = _NONE
    test_by_task_type: Mapping[str, Mapping[str, TypeScore]] = field(default_factory=dict[str, Mapping[str, TypeScore]])
    paired: PairedSummary | None = None
    verdict: str = ""
    stopped: str | None = None
    notices: tuple[str, ...] = ()
    token_summary: Mapping[str, TokenTotal] = field(default_factory=dict[str, TokenTotal])
    cost_per_point: PointCost | None = None
    cost: CostSummary = field(default_factory=CostSummary)
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    seed: int | None = None
    total_wall_time_s: float | None = None
    last_look: GateRecord | None = field(default=None, metadata=OMIT)
    """Under the rules proof and paired: what came of the draft that was left at the end."""
    unproven_draft: str | None = field(default=None, metadata=OMIT)
    """Hash of the text in `draft_skill.md`; left out when no draft is left."""
    test_reading: int = field(default=1, metadata=OMIT)
    """Which reading of the sealed test this is: an extended run that ends with other texts reads it again."""

    @property
    def unchanged(self) -> bool:
        """True when the best skill is the initial one, byte for byte."""
        return self.initial_skill_hash == self.best_skill_hash

    @property
    def measured(self) -> bool:
        """False for a run that ended before its initial skill was measured: it says nothing of any skill."""
        return self.baseline_selection_hard is not None

    def to_json(self) -> dict[str, JsonValue]:
        """`summary.json`."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "summary.json") -> Summary:
        """Read a summary of any version. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)
