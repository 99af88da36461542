"""Rows of a run's smaller files: rollouts (`results.jsonl`), the bill (`ledger.json`), the clock (`timings.json`), and
where the run stands (`runtime_state.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import OMIT, decode, encode_record


@dataclass(frozen=True, kw_only=True)
class RolloutRow:
    """One item solved once. A `missing` row has no scores, and `error` says why."""

    id: str
    status: Literal["scored", "missing"]
    hard: float | None = field(default=None, metadata=OMIT)
    soft: float | None = field(default=None, metadata=OMIT)
    error: str | None = field(default=None, metadata=OMIT)
    n_turns: int = 0
    task_type: str = ""
    task_description: str = ""
    question: str | None = field(default=None, metadata=OMIT)
    fail_reason: str | None = field(default=None, metadata=OMIT)
    predicted_answer: str | None = field(default=None, metadata=OMIT)
    detail: JsonObject | None = field(default=None, metadata=OMIT)
    repeat: int = field(default=0, metadata=OMIT)
    skill_hash: str = ""
    tokens: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    agent_ok: bool | None = field(default=None, metadata=OMIT)
    agent: JsonObject | None = field(default=None, metadata=OMIT)

    def to_json(self) -> dict[str, JsonValue]:
        """A line of `results.jsonl`."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "results.jsonl") -> RolloutRow:
        """Read a line. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)


@dataclass(frozen=True, kw_only=True)
class SpentRow:
    """Calls of one role, model and stage, as they were really paid, speculation included."""

    role: str = ""
    model: str = ""
    stage: str = ""
    entries: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    unknown_usage: int = 0
    """Calls whose provider reported no usage; their tokens are in no sum."""
    usd: float = 0.0
    unknown_usd: int = 0
    elapsed_s: float = 0.0
    shared: int = 0


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """`logs/ledger.json`: the sum of the journal's calls."""

    calls: tuple[SpentRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Clock:
    """`logs/timings.json`: seconds by step and stage (`rollout_s`), and of the whole run over all its processes."""

    steps: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    stages: Mapping[str, float] = field(default_factory=dict[str, float])
    total_wall_time_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunState:
    """`runtime_state.json`: where the run stands."""

    last_completed_step: int = 0
    current_skill_path: str = "skills/skill_v0000.md"
    current_score: float | None = None
    current_origin: str = "initial_skill"
    best_skill_path: str = "best_skill.md"
    best_score: float | None = None
    best_step: int = 0
    best_origin: str = "initial_skill"

    def to_json(self) -> dict[str, JsonValue]:
        """`runtime_state.json`."""
        return encode_record(self)
