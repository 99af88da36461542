"""All events by name, which of them are told on request only, and how a line of a log is read."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.core.json_types import JsonObject
from skillopt.records.codec import decode
from skillopt.records.events.base import Event
from skillopt.records.events.besides import BudgetUpdated, BudgetWarning, Notice, OrderTaken, OutageEnd, OutageStart
from skillopt.records.events.decisions import (
    CandidateAccepted,
    CandidateProposed,
    CandidateRejected,
    EditDropped,
    GateVerdict,
    ReflectGroup,
)
from skillopt.records.events.requested import CallContent, CallEnd, RolloutEnd
from skillopt.records.events.run import (
    EpochEnd,
    EpochResult,
    EpochStart,
    EvalEnd,
    RunEnd,
    RunStart,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)

EVENTS: Mapping[str, type[Event]] = {
    kind.name: kind
    for kind in (
        RunStart, RunEnd, EpochStart, EpochEnd, EpochResult, StepStart, StepEnd, StageStart, StageProgress, StageEnd,
        ReflectGroup, EditDropped, CandidateProposed, GateVerdict, CandidateAccepted, CandidateRejected, BudgetUpdated,
        BudgetWarning, OutageStart, OutageEnd, OrderTaken, Notice, EvalEnd, RolloutEnd, CallEnd, CallContent,
    )
}  # fmt: skip
"""All events by name."""

ON_REQUEST = frozenset({RolloutEnd.name, CallEnd.name, CallContent.name})
"""Events that only come to observers that ask for them."""


def read_event(raw: JsonObject, where: str = "events.jsonl") -> Event | None:
    """The event of a line; None for a name that this version does not know. Raises `RunDirError` for wrong types.

    >>> from skillopt.records.events import read_event
    >>> read_event({"event": "notice", "text": "hello"}).text
    'hello'
    """
    kind = EVENTS.get(str(raw.get("event")))
    return None if kind is None else decode(kind, {k: v for k, v in raw.items() if k != "event"}, where)
