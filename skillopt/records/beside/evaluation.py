"""`eval_summary.json` as a record: one skill on whole splits, a score for each, never one mixed score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonValue
from skillopt.records.beside.label_table import LabelScores
from skillopt.records.codec import OMIT, decode, encode_record
from skillopt.records.step import TokenCount, Tokens
from skillopt.records.summary import ScoreSummary, TypeScore


@dataclass(frozen=True, kw_only=True)
class SplitScore(ScoreSummary):
    """The score on one split, whole and by task type."""

    n_items: int = 0
    repeats: int = 1
    by_task_type: Mapping[str, TypeScore] = field(default_factory=dict[str, TypeScore])
    labels: LabelScores | None = field(default=None, metadata=OMIT)
    """Where the scorer reads labels."""


@dataclass(frozen=True, kw_only=True)
class EvalSummary:
    """An evaluation. Where one split was asked for, its numbers stand at the top too."""

    skill: str
    skill_chars: int = 0
    env: str = ""
    model: str = ""
    split: str = ""
    splits: Mapping[str, SplitScore] = field(default_factory=dict[str, SplitScore])
    tokens: Tokens = field(default_factory=dict[str, TokenCount])
    cost: float | None = None
    n_items: int | None = field(default=None, metadata=OMIT)
    hard: float | None = field(default=None, metadata=OMIT)
    soft: float | None = field(default=None, metadata=OMIT)
    n: int | None = field(default=None, metadata=OMIT)
    coverage: float | None = field(default=None, metadata=OMIT)
    interval: tuple[float, float] | None = field(default=None, metadata=OMIT)
    metric: str = field(default="hard", metadata=OMIT)
    """What the interval is of; `value` is its mean where it is not `hard`."""
    value: float | None = field(default=None, metadata=OMIT)
    notices: tuple[str, ...] = field(default=(), metadata=OMIT)
    """What has to be known beside the scores: they say nothing about a skill that no agent read."""

    def to_json(self) -> dict[str, JsonValue]:
        """`eval_summary.json`."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "eval_summary.json") -> EvalSummary:
        """Read a summary. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)
