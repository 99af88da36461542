"""A step as a record: the entry of `history.json`, which is also `steps/step_NNNN/step_record.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import MERGE, OMIT, decode, encode_record
from skillopt.records.factorial import FactorialRecord
from skillopt.records.gate import GateRecord, VetoRecord


@dataclass(frozen=True)
class TokenCount:
    """Calls of one stage and their tokens; None is unknown, never 0."""

    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


Tokens = Mapping[str, TokenCount]
"""By stage (`vocabulary.Stage`)."""


def token_counts(stages: Mapping[str, Mapping[str, int | None]]) -> dict[str, TokenCount]:
    """A tally's rows, `{calls, prompt_tokens, completion_tokens}` by stage, as records."""
    return {
        stage: TokenCount(row["calls"] or 0, row["prompt_tokens"], row["completion_tokens"])
        for stage, row in stages.items()
    }


@dataclass(frozen=True, kw_only=True)
class BatchRecord:
    """One batch of an accumulated step."""

    batch_idx: int
    batch_seed: int | None = None
    n_envs: int = 0
    hard: float | None = None
    soft: float | None = None
    n_failure_patches: int = 0
    n_success_patches: int = 0


@dataclass(frozen=True, kw_only=True)
class ApplySummary:
    """What became of the edits when they were applied."""

    total: int = 0
    applied: int = 0
    skipped: int = 0
    errors: int = 0


@dataclass(frozen=True, kw_only=True)
class CreditRecord:
    """Single edits tried alone: how many, how many held their own, and the calls that took."""

    edits: int = 0
    kept: int = 0
    calls: int = 0


@dataclass(frozen=True, kw_only=True)
class DeepRecord:
    """Deep reflection of one batch; `warning` says why it came to less, blank when all went well."""

    n_items: int = 0
    n_rerun: int = 0
    n_patches: int = 0
    warning: str = ""


@dataclass(frozen=True, kw_only=True)
class NotesRecord:
    """The step's reminders, where reflection is skill-aware; `appendix` is the verdict on the text with them."""

    n_execution_lapse_notes: int = 0
    n_appendix_notes_added: int = 0
    n_appendix_notes_total: int = 0
    n_appendix_notes_consolidated: int = 0
    n_appendix_notes_pending: int = 0
    appendix: GateRecord


@dataclass(frozen=True, kw_only=True)
class LrDecisionRecord:
    """The optimizer's own edit budget; also `lr_decision.json` and a line of `lr_history.jsonl`."""

    step: int
    epoch: int
    learning_rate: int
    raw_learning_rate: JsonValue = None
    available_update_items: int = 0
    clamped: bool = False
    fallback: bool = False
    fallback_reason: str = ""
    reasoning: str = ""
    confidence: JsonValue = ""
    risk_notes: tuple[JsonValue, ...] = ()
    raw_response: str = ""


@dataclass(frozen=True, kw_only=True)
class StepRecord:
    """What one step found and what became of it. Scores are None where nothing was measured.

    No clock value is in it (it would differ between a killed and an undisturbed run): `timing` and `wall_time_s` are
    null in the file, and `Run` fills them in from `logs/timings.json`.
    """

    version: int = 1
    step: int
    epoch: int
    step_in_epoch: int = 0
    timing: Mapping[str, float] | None = None
    wall_time_s: float | None = None
    tokens: Tokens = field(default_factory=dict[str, TokenCount])
    rollout_hard: float | None = None
    rollout_soft: float | None = None
    rollout_n: int = 0
    rollout_n_failed: int = 0
    rollout_n_missing: int = 0
    accumulation_batches: tuple[BatchRecord, ...] = ()
    n_patches: int = 0
    n_failure_patches: int = 0
    n_success_patches: int = 0
    n_edits_merged: int = 0
    n_edits_ranked: int = 0
    support_counts: tuple[int, ...] = ()
    n_edits_vetoed: int = 0
    vetoed: tuple[VetoRecord, ...] = field(default=(), metadata=OMIT)
    n_proposals: int = 0
    edit_budget: int | None = None
    lr_control_mode: str = ""
    lr_decision: LrDecisionRecord | None = field(default=None, metadata=OMIT)
    rewrite_change_summary: tuple[JsonValue, ...] | None = field(default=None, metadata=OMIT)
    edit_apply_summary: ApplySummary | None = None
    gate: GateRecord = field(metadata=MERGE)
    gate_metric: str = "hard"
    credit: CreditRecord | None = field(default=None, metadata=OMIT)
    whole_patch: GateRecord | None = field(default=None, metadata=OMIT)
    """The rejection of the whole patch, when what held its own alone went to the gate once more."""
    current_score: float | None = None
    best_score: float | None = None
    best_step: int = 0
    current_origin: str = ""
    best_origin: str = ""
    skill_len: int = 0
    notes: NotesRecord | None = field(default=None, metadata=MERGE)
    deep_reflect: tuple[DeepRecord, ...] = field(default=(), metadata=OMIT)
    factorial: FactorialRecord | None = field(default=None, metadata=OMIT)
    """Of a round of the factorial search."""
    n_dropped_replies: int = 0
    n_reasks: int = 0
    cost: float | None = None

    @property
    def changed_current(self) -> bool:
        """True when the step changed the current skill: by its candidate, by its notes, or by both."""
        return self.gate.changed_current or (self.notes is not None and self.notes.appendix.changed_current)

    def to_json(self) -> dict[str, JsonValue]:
        """The entry of `history.json`."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "history.json") -> StepRecord:
        """Read an entry of any version. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)

    @classmethod
    def upgrade(cls, raw: JsonObject) -> JsonObject:
        """Version 1 counted vetoed edits as `n_edits_leaked`, whatever the reason."""
        if "n_edits_leaked" not in raw:
            return raw
        return {**raw, "n_edits_vetoed": raw["n_edits_leaked"]}
