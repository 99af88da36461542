"""What a run tells while it goes on: one frozen class an event, every start with its end.

The engine makes an event and hands it to `Emit`; on the way to observers it is stamped with a sequence number (counts
through all processes of a run), the time (seconds since 1970), the run's id, and `replayed`: true when an earlier
process of the same run has told the very same, so a tracker that was there passes over it. Observers only read.
`to_json` and `read_event` are inverse; the lines of `logs/events.jsonl` have that form. The events of `ON_REQUEST` come
only to observers that ask for them, and neither they nor progress are written to the file.
"""

from __future__ import annotations

from skillopt.records.events.base import EVENT_VERSION, STAMP, Emit, Event, Outcome, silent, stamped
from skillopt.records.events.besides import BudgetUpdated, BudgetWarning, Notice, OrderTaken, OutageEnd, OutageStart
from skillopt.records.events.decisions import (
    CandidateAccepted,
    CandidateProposed,
    CandidateRejected,
    EditDropped,
    GateVerdict,
    ReflectGroup,
)
from skillopt.records.events.requested import CallContent, CallEnd, RolloutEnd, Said
from skillopt.records.events.run import (
    EpochEnd,
    EpochResult,
    EpochStart,
    EvalEnd,
    RateInfo,
    RoleInfo,
    RunEnd,
    RunStart,
    Score,
    StageEnd,
    StageProgress,
    StageStart,
    StepEnd,
    StepStart,
)
from skillopt.records.events.table import EVENTS, ON_REQUEST, read_event

__all__ = [
    "EVENTS", "EVENT_VERSION", "ON_REQUEST", "STAMP", "BudgetUpdated", "BudgetWarning", "CallContent", "CallEnd",
    "CandidateAccepted", "CandidateProposed", "CandidateRejected", "EditDropped", "Emit", "EpochEnd", "EpochResult",
    "EpochStart", "EvalEnd", "Event", "GateVerdict", "Notice", "OrderTaken", "OutageEnd", "OutageStart", "Outcome",
    "RateInfo", "ReflectGroup", "RoleInfo", "RolloutEnd", "RunEnd", "RunStart", "Said", "Score", "StageEnd",
    "StageProgress", "StageStart", "StepEnd", "StepStart", "read_event", "silent", "stamped",
]  # fmt: skip
