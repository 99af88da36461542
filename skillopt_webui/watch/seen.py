"""What is known of a run from its events: a fold, so that a run that began elsewhere and long ago is known as well.

Events that a resumed run tells again (`replayed`) count once. Nothing is kept but what a page shows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.records.events import (
    BudgetUpdated,
    CandidateAccepted,
    CandidateRejected,
    EditDropped,
    EpochStart,
    Event,
    ReflectGroup,
    RunEnd,
    RunStart,
    StageEnd,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.step import StepRecord
from skillopt.records.vocabulary import Stage, role_of
from skillopt_webui.watch.lines import Line, line_of

STRIP: tuple[tuple[Stage, tuple[Stage, ...]], ...] = (
    (Stage.ROLLOUT, (Stage.ROLLOUT, Stage.DEEP_PROBE, Stage.DEEP_ROLLOUT)),
    (Stage.REFLECT, (Stage.REFLECT, Stage.ANALYST)),
    (Stage.AGGREGATE, (Stage.AGGREGATE, Stage.MERGE)),
    (Stage.SELECT, (Stage.SELECT, Stage.RANKING, Stage.LR_AUTONOMOUS)),
    (Stage.UPDATE, (Stage.UPDATE, Stage.REWRITE, Stage.RACE, Stage.CREDIT)),
    (Stage.GATE, (Stage.TRIAL, Stage.GATE, Stage.APPENDIX, Stage.APPENDIX_CONSOLIDATE)),
)
"""The six stages of a step, and what is done within each."""
LOG_LINES = 300


@dataclass(frozen=True)
class StepRow:
    """One finished step as a table shows it."""

    step: int
    epoch: int
    batch: float | None
    batch_n: int
    missing: int
    selection: float | None
    words: str
    kept: bool
    best: float | None
    dropped: int
    seconds: float


@dataclass
class StageSpend:
    """Calls and tokens of one stage over the finished steps; `unknown` says that some tokens are not known."""

    role: str
    calls: int = 0
    tokens: int = 0
    unknown: bool = False


@dataclass
class Seen:
    """See the module."""

    env: str = ""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    splits: Mapping[str, int] = field(default_factory=dict[str, int])
    total_steps: int = 0
    epochs: int = 0
    epoch: int = 0
    step: int = 0
    step_began: float = 0.0
    stage: Stage | None = None
    stage_began: float = 0.0
    reached: int = -1
    """Which of the six the current step has come to; 6 when it is over."""
    steps: list[StepRow] = field(default_factory=list[StepRow])
    spend: dict[str, StageSpend] = field(default_factory=dict[str, StageSpend])
    accepted: int = 0
    rejected: int = 0
    vetoed: int = 0
    dropped: int = 0
    missing: int = 0
    best: float | None = None
    budget: BudgetUpdated | None = None
    outcome: str = ""
    reason: str = ""
    verdict: str = ""
    last: float = 0.0
    lines: deque[Line] = field(default_factory=lambda: deque[Line](maxlen=LOG_LINES))

    def take(self, event: Event) -> None:
        """One event more."""
        self.last = event.time
        if isinstance(event, RunStart):
            self._start(event)
        elif isinstance(event, StepStart):
            self.step, self.epoch, self.step_began, self.reached = event.step, event.epoch, event.time, -1
            self.total_steps = event.total_steps or self.total_steps
        elif isinstance(event, EpochStart):
            self.epoch = event.epoch
        elif isinstance(event, StageStart):
            self._stage(event)
        elif isinstance(event, StageEnd):
            if event.stage is self.stage:
                self.stage = None
        elif isinstance(event, BudgetUpdated):
            self.budget = event
        elif isinstance(event, RunEnd):
            self.outcome, self.reason, self.stage = event.outcome, event.reason, None
            self.verdict = event.summary.verdict if event.summary is not None else ""
            if event.summary is not None and event.summary.best_gate_score is not None:
                self.best = event.summary.best_gate_score  # rule proof moves the best skill after the last step
        if not event.replayed:
            self._count(event)
        if (line := line_of(event)) is not None and not event.replayed:
            self.lines.append(line)

    def _start(self, event: RunStart) -> None:
        self.env, self.splits, self.epochs = event.env, event.splits, event.epochs
        self.total_steps = event.total_steps
        self.models = {role.role: role.model for role in event.roles}
        self.outcome = self.reason = ""

    def _stage(self, event: StageStart) -> None:
        self.stage, self.stage_began = event.stage, event.time
        for at, (_, parts) in enumerate(STRIP):
            if event.stage in parts and event.step == self.step:
                self.reached = max(self.reached, at)

    def _count(self, event: Event) -> None:
        if isinstance(event, StageEnd) and event.score is not None:
            self.missing += max(0, event.score.total - event.score.n)
        elif isinstance(event, CandidateAccepted):
            self.accepted += 1
        elif isinstance(event, CandidateRejected):
            self.rejected += 1
        elif isinstance(event, EditDropped):
            self.vetoed += 1
        elif isinstance(event, ReflectGroup) and event.dropped:
            self.dropped += 1
        elif isinstance(event, StepEnd) and event.record is not None:
            self._step(event, event.record)

    def _step(self, event: StepEnd, record: StepRecord) -> None:
        self.reached, self.best = len(STRIP), record.best_score
        words = record.gate.action.words + (f": {record.gate.reason}" if record.gate.reason else "")
        self.steps.append(
            StepRow(
                record.step, record.epoch, record.rollout_hard, record.rollout_n, record.rollout_n_missing,
                record.gate.candidate_gate_score, words, record.changed_current, record.best_score,
                record.n_dropped_replies, max(0.0, event.time - self.step_began),
            )
        )  # fmt: skip
        for stage, row in record.tokens.items():
            spent = self.spend.setdefault(stage, StageSpend(role_of(stage)))
            spent.calls += row.calls
            spent.tokens += (row.prompt_tokens or 0) + (row.completion_tokens or 0)
            spent.unknown = spent.unknown or row.prompt_tokens is None or row.completion_tokens is None

    def strip(self, alive: bool) -> list[tuple[str, str]]:
        """The six stages with `done`, `now` or `ahead`. Of a run that no process goes on with nothing is done now."""
        found: list[tuple[str, str]] = []
        for at, (stage, parts) in enumerate(STRIP):
            under_way = self.stage in parts and not self.outcome
            passed = at <= self.reached or self.reached == len(STRIP)
            word = "now" if under_way and alive else "done" if passed and not under_way else "ahead"
            found.append((stage.heading, word))
        return found

    def seconds_left(self) -> float | None:
        """What the steps that are left take at the pace of the last ones; None before the first has ended."""
        paced = [row.seconds for row in self.steps[-8:] if row.seconds > 0]
        if not paced or not self.total_steps or self.outcome:
            return None
        return sum(paced) / len(paced) * max(0, self.total_steps - len(self.steps))
