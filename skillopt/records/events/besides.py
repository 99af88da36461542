"""What is told beside the frame and the decisions: money, endpoints that are down, sentences for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from skillopt.records.events.base import Event, Outcome


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
class OrderTaken(Event):
    """Somebody has steered the run while it goes on (`skillopt ctl`, the dashboard), and what came of it."""

    name: ClassVar[str] = "order.taken"
    order: Literal["pause", "resume", "stop", "set"]
    key: str = ""
    value: float | None = None
    by: str = ""
    effect: str = ""


@dataclass(frozen=True, kw_only=True)
class Notice(Event):
    """A sentence for people."""

    name: ClassVar[str] = "notice"
    text: str
