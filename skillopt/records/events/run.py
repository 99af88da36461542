"""The frame of a run: itself, its epochs, steps and stages. Every start has its end, on every way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from skillopt.core.json_types import JsonObject
from skillopt.records.beside.evaluation import EvalSummary
from skillopt.records.codec import OMIT
from skillopt.records.epoch import EpochRecord
from skillopt.records.events.base import EVENT_VERSION, Event, Outcome
from skillopt.records.step import StepRecord
from skillopt.records.summary import Summary
from skillopt.records.vocabulary import Stage

Kind = Literal["train", "eval"]
"""What kind of a run it is: a training, or an evaluation of skills as they are."""


@dataclass(frozen=True, kw_only=True)
class RoleInfo:
    """Who a role is: backend, model, endpoint and how it is paid or authenticated, as far as there is one."""

    role: str
    backend: str = ""
    model: str = ""
    endpoint: str = ""
    auth: str = ""
    reasoning_effort: str = ""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A score with what it rests on: `n` of `total` were measured."""

    hard: float | None = None
    soft: float | None = None
    n: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class RunStart(Event):
    """A run begins, or goes on after a stop. `kind` eval is an evaluation, which has no steps."""

    name: ClassVar[str] = "run.start"
    out_root: str
    env: str = ""
    roles: tuple[RoleInfo, ...] = ()
    splits: Mapping[str, int] = field(default_factory=dict[str, int])
    total_steps: int = 0
    epochs: int = 0
    gate_metric: str = "hard"
    gate_rule: str = ""
    slow_update: str | None = None
    kind: Kind = "train"
    version: int = EVENT_VERSION


@dataclass(frozen=True, kw_only=True)
class RunEnd(Event):
    """The end of a run. `summary` is None for an evaluation, and when an error prevented one."""

    name: ClassVar[str] = "run.end"
    outcome: Outcome = "done"
    reason: str = ""
    summary: Summary | None = None


@dataclass(frozen=True, kw_only=True)
class EpochStart(Event):
    """An epoch begins."""

    name: ClassVar[str] = "epoch.start"
    epoch: int
    epochs: int = 0


@dataclass(frozen=True, kw_only=True)
class EpochEnd(Event):
    """An epoch is over, its end included."""

    name: ClassVar[str] = "epoch.end"
    epoch: int
    outcome: Outcome = "done"


@dataclass(frozen=True, kw_only=True)
class EpochResult(Event):
    """One mechanism of an epoch's end has a result."""

    name: ClassVar[str] = "epoch.result"
    record: EpochRecord


@dataclass(frozen=True, kw_only=True)
class StepStart(Event):
    """A step begins."""

    name: ClassVar[str] = "step.start"
    step: int
    epoch: int
    step_in_epoch: int = 0
    total_steps: int = 0


@dataclass(frozen=True, kw_only=True)
class RateInfo:
    """The edit budget of a step as people read it: the learning rate, who or what decided, and the exact value."""

    noun: str = "edit"
    lr: int = 0
    scheduler: str = ""
    unrounded: float | None = None


@dataclass(frozen=True, kw_only=True)
class StepEnd(Event):
    """A step is over; `record` is its entry in `history.json`, None when it was not finished. `timing` are the seconds
    of its stages (a clock, so not part of the record)."""

    name: ClassVar[str] = "step.end"
    step: int
    total_steps: int = 0
    outcome: Outcome = "done"
    record: StepRecord | None = None
    rate: RateInfo = field(default_factory=RateInfo)
    timing: Mapping[str, float] = field(default_factory=dict[str, float])

    def told(self) -> JsonObject:
        """Without its clock."""
        return {k: v for k, v in super().told().items() if k != "timing"}


@dataclass(frozen=True, kw_only=True)
class StageStart(Event):
    """A stage begins. `total` counts what its progress counts (calls, mostly); None when that is not known."""

    name: ClassVar[str] = "stage.start"
    stage: Stage
    step: int | None = None
    epoch: int | None = None
    step_in_epoch: int | None = None
    total: int | None = None
    label: str = ""
    """Which of several, where a stage comes more than once (a split's name)."""


@dataclass(frozen=True, kw_only=True)
class StageProgress(Event):
    """Something of a stage is done. `hard` is the mean of what was measured so far."""

    name: ClassVar[str] = "stage.progress"
    stage: Stage
    step: int | None = None
    done: int = 0
    total: int = 0
    missing: int = 0
    hard: float | None = None


@dataclass(frozen=True, kw_only=True)
class StageEnd(Event):
    """A stage is over. `score` is what it measured, `counts` what else it found, by name (`patches`, `merged`, …)."""

    name: ClassVar[str] = "stage.end"
    stage: Stage
    step: int | None = None
    epoch: int | None = None
    outcome: Outcome = "done"
    score: Score | None = field(default=None, metadata=OMIT)
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, kw_only=True)
class EvalEnd(Event):
    """The evaluation of one skill (`skillopt eval`, `evaluate`) is over; `summary` is its `eval_summary.json`. `skill`
    is its name among several, blank for the only one."""

    name: ClassVar[str] = "eval.end"
    skill: str = ""
    summary: EvalSummary | None = None
