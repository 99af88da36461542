"""One mechanism at an epoch's end as a record: `slow_result.json`, `meta_skill_result.json`, `meta_result.json`,
`review_result.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import MERGE, OMIT, decode, encode_record
from skillopt.records.gate import GateRecord, VetoRecord
from skillopt.records.step import ApplySummary, TokenCount, Tokens
from skillopt.records.vocabulary import Stage

RESULT_FILES: Mapping[Stage, str] = {
    Stage.DRAFT_REVIEW: "review_result.json",
    Stage.SLOW_UPDATE: "slow_result.json",
    Stage.META_SKILL: "meta_skill_result.json",
    Stage.META_REFLECT: "meta_result.json",
}
"""File of each mechanism in `<mechanism>/epoch_EE/`."""


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord:
    """Two successive skills on the same training items: both means over the sample, and what became of the pairs."""

    prev_hard: float | None
    curr_hard: float | None
    prev_n: int = 0
    curr_n: int = 0
    prev_hash: str = ""
    curr_hash: str = ""
    n_sampled: int = 0
    n_topup: int = 0
    n_pairs: int = 0
    n_pairs_left_out: int = 0
    categories: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """What one mechanism came to. Fields that only some mechanisms have are left out of the files of the others."""

    version: int = 1
    stage: Stage
    epoch: int
    step: int
    gate: GateRecord = field(metadata=MERGE)
    acceptance: str | None = field(default=None, metadata=OMIT)
    comparison: ComparisonRecord | None = field(default=None, metadata=MERGE)
    update_origin: str | None = field(default=None, metadata=OMIT)
    update_target: str | None = field(default=None, metadata=OMIT)
    summary: str | None = field(default=None, metadata=OMIT)
    reasoning: str | None = field(default=None, metadata=OMIT)
    n_items: int | None = field(default=None, metadata=OMIT)
    edit_apply_summary: ApplySummary | None = field(default=None, metadata=OMIT)
    vetoed: tuple[VetoRecord, ...] = field(default=(), metadata=OMIT)
    meta_skill_content: str | None = field(default=None, metadata=OMIT)
    memory_in_force: str | None = field(default=None, metadata=OMIT)
    draft_hash: str | None = field(default=None, metadata=OMIT)
    proven_hash: str | None = field(default=None, metadata=OMIT)
    gate_score: float | None = field(default=None, metadata=OMIT)
    time_s: float | None = None
    current_score: float | None = None
    best_score: float | None = None
    current_origin: str = ""
    best_origin: str = ""
    tokens: Tokens = field(default_factory=dict[str, TokenCount])
    n_dropped_replies: int = 0
    n_reasks: int = 0
    cost: float | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The result file."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "epoch result") -> EpochRecord:
        """Read a result file of any version. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)

    @classmethod
    def upgrade(cls, raw: JsonObject) -> JsonObject:
        """Version 1 listed vetoed lines and edits as `leaked`."""
        return raw if "leaked" not in raw else {**raw, "vetoed": raw["leaked"]}
