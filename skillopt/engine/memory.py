"""What a run carries from one epoch to the next, besides its skills."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.core.json_types import JsonObject
from skillopt.core.skill import Skill
from skillopt.records.schema import EpochRecord


@dataclass(frozen=True)
class EpochMemory:
    """Part of the state. Like all of it, a function of recorded answers: after an interruption it is the same."""

    previous: Skill | None = None
    """The current skill as the last epoch left it; None in the first epoch."""
    meta_skill: str = ""
    """Advice of the optimizer to itself; blank until an epoch wrote some."""
    meta_summary: str = ""
    """What the last meta reflection said; only the next one reads it."""
    directions: tuple[JsonObject, ...] = ()
    """What each step of the running epoch tried and what became of it; emptied at each epoch start."""
    results: tuple[EpochRecord, ...] = ()
    """The results of all epoch ends so far, with their tokens."""
