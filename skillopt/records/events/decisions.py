"""What becomes of proposed changes: groups of attempts read, edits dropped, candidates proposed and decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from skillopt.records.codec import MERGE
from skillopt.records.events.base import Event
from skillopt.records.gate import GateRecord, VetoRecord
from skillopt.records.vocabulary import Stage


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
