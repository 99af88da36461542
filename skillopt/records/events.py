"""What a run tells while it goes on: one frozen class an event, every start with its end.

The engine makes an event and hands it to `Emit`; on the way to observers it is stamped with a sequence number (counts
through all processes of a run), the time (seconds since 1970), the run's id, and `replayed`: true when an earlier
process of the same run has told the very same, so a tracker that was there passes over it. Observers only read.
`to_json` and `read_event` are inverse; the lines of `logs/events.jsonl` have that form. `RolloutEnd` and `CallEnd` come
only to observers that ask for them, and progress is not written to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal, Protocol, TypeVar

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.records.codec import MERGE, OMIT, decode, encode_record
from skillopt.records.epoch import EpochRecord
from skillopt.records.gate import GateRecord, VetoRecord
from skillopt.records.step import StepRecord, TokenCount
from skillopt.records.summary import Summary
from skillopt.records.vocabulary import Stage

EVENT_VERSION = 1
STAMP = ("seq", "time", "run_id", "replayed")
"""Fields that say when an event was told, not what."""

Outcome = Literal["done", "stopped", "failed"]
"""How what had started ended: in full, by a stop in order (budget, patience, fault of the provider), or by an error."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events have. `name` is dotted; an observer object's method for it is `on_` and the name with `_`."""

    name: ClassVar[str] = ""
    seq: int = 0
    time: float = 0.0
    run_id: str = ""
    replayed: bool = False

    def to_json(self) -> dict[str, JsonValue]:
        """A line of `logs/events.jsonl`: the name first."""
        return {"event": self.name, **encode_record(self)}

    def told(self) -> JsonObject:
        """The event without its stamp: equal for what is told twice."""
        return {k: v for k, v in self.to_json().items() if k not in STAMP}


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
    """A run begins, or goes on after a stop."""

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
    version: int = EVENT_VERSION


@dataclass(frozen=True, kw_only=True)
class RunEnd(Event):
    """The end of a run. `summary` is None when an error prevented one."""

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
class ReflectGroup(Event):
    """An analyst has answered about one group of attempts; `dropped` says why its reply could not be used."""

    name: ClassVar[str] = "reflect.group"
    kind: str
    number: int = 0
    size: int = 0
    dropped: str = ""


@dataclass(frozen=True, kw_only=True)
class EditDropped(Event):
    """A proposed change will not be part of the candidate, and why: a veto, or no place in the text."""

    name: ClassVar[str] = "edit.dropped"
    step: int | None = None
    edit: VetoRecord = field(metadata=MERGE)


@dataclass(frozen=True, kw_only=True)
class CandidateProposed(Event):
    """A text goes to the gate. `origin` is the tag that its skill would have, `stage` what proposed it."""

    name: ClassVar[str] = "candidate.proposed"
    stage: Stage
    step: int | None = None
    origin: str = ""
    candidate_hash: str = ""
    n_edits: int = 0


@dataclass(frozen=True, kw_only=True)
class GateVerdict(Event):
    """A gate has decided. `stage` is what proposed the candidate; the scores are those that it was compared with."""

    name: ClassVar[str] = "gate.verdict"
    stage: Stage
    step: int | None = None
    epoch: int | None = None
    current_score: float | None = None
    best_score: float | None = None
    gate: GateRecord = field(metadata=MERGE)


@dataclass(frozen=True, kw_only=True)
class CandidateAccepted(Event):
    """The candidate became the current skill; `proven` is false for a draft and for what no gate was asked about."""

    name: ClassVar[str] = "candidate.accepted"
    stage: Stage
    step: int | None = None
    origin: str = ""
    candidate_hash: str = ""
    proven: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class CandidateRejected(Event):
    """The candidate did not become the current skill: rejected, or undecided."""

    name: ClassVar[str] = "candidate.rejected"
    stage: Stage
    step: int | None = None
    origin: str = ""
    candidate_hash: str = ""
    undecided: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class BudgetUpdated(Event):
    """What the run has spent so far, over all its processes, beside its caps (None: no cap). `usd` is None when a price
    or a usage is unknown."""

    name: ClassVar[str] = "budget.updated"
    calls: int = 0
    tokens: int = 0
    usd: float | None = None
    hours: float = 0.0
    max_calls: float | None = None
    max_tokens: float | None = None
    max_usd: float | None = None
    max_hours: float | None = None


@dataclass(frozen=True, kw_only=True)
class BudgetWarning(Event):
    """A share of a cap is used up."""

    name: ClassVar[str] = "budget.warning"
    kind: str
    used: float = 0.0
    limit: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class OutageStart(Event):
    """An endpoint is down, and the run waits for it; told `lasted_s` seconds after it stopped answering."""

    name: ClassVar[str] = "outage.start"
    endpoint: str
    reason: str = ""
    lasted_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class OutageEnd(Event):
    """The endpoint answers again, or was given up (`stopped`), after `seconds`."""

    name: ClassVar[str] = "outage.end"
    endpoint: str
    seconds: float = 0.0
    outcome: Outcome = "done"


@dataclass(frozen=True, kw_only=True)
class Notice(Event):
    """A sentence for people."""

    name: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True, kw_only=True)
class EvalEnd(Event):
    """An evaluation (`skillopt eval`) is over; `summary` is `eval_summary.json`."""

    name: ClassVar[str] = "eval.end"
    summary: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, kw_only=True)
class RolloutEnd(Event):
    """One item was solved once (only told to who asks). `error` is set when it could not be measured."""

    name: ClassVar[str] = "rollout.end"
    stage: Stage
    item: str
    repeat: int = 0
    skill_hash: str = ""
    hard: float | None = None
    soft: float | None = None
    error: str = ""
    tokens: TokenCount = field(default_factory=TokenCount)


@dataclass(frozen=True, kw_only=True)
class CallEnd(Event):
    """One call was answered, from the model or from the journal (only told to who asks)."""

    name: ClassVar[str] = "call.end"
    role: str
    model: str = ""
    stage: str = ""
    recorded: bool = False
    seconds: float | None = None
    tokens: TokenCount = field(default_factory=TokenCount)
    usd: float | None = None


EVENTS: Mapping[str, type[Event]] = {
    kind.name: kind
    for kind in (
        RunStart, RunEnd, EpochStart, EpochEnd, EpochResult, StepStart, StepEnd, StageStart, StageProgress, StageEnd,
        ReflectGroup, EditDropped, CandidateProposed, GateVerdict, CandidateAccepted, CandidateRejected, BudgetUpdated,
        BudgetWarning, OutageStart, OutageEnd, Notice, EvalEnd, RolloutEnd, CallEnd,
    )
}  # fmt: skip
"""All events by name."""

ON_REQUEST = frozenset({RolloutEnd.name, CallEnd.name})
"""Events that only come to observers that ask for them."""

E = TypeVar("E", bound=Event)


class Emit(Protocol):
    """Hands one event to whoever watches. Never raises."""

    def __call__(self, event: Event, /) -> None: ...


def silent(event: Event, /) -> None:
    """An `Emit` for nobody."""
    del event


def read_event(raw: JsonObject, where: str = "events.jsonl") -> Event | None:
    """The event of a line; None for a name that this version does not know. Raises `RunDirError` for wrong types.

    >>> read_event({"event": "notice", "text": "hello"}).text
    'hello'
    """
    kind = EVENTS.get(str(raw.get("event")))
    return None if kind is None else decode(kind, {k: v for k, v in raw.items() if k != "event"}, where)


def stamped(event: E, *, seq: int, time: float, run_id: str, replayed: bool) -> E:
    """The event with its stamp; nested records are shared."""
    values = {each.name: getattr(event, each.name) for each in fields(event)}
    values.update(seq=seq, time=time, run_id=run_id, replayed=replayed)
    return type(event)(**values)
