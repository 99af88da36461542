"""What a simulated provider saw: how often each body was asked and answered, with which status, and how busy it was."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonValue


@dataclass
class Tally:
    """How often one body was asked and completely answered."""

    started: int = 0
    completed: int = 0


@dataclass
class Stats:
    """What the server saw. `busy_s` is the integral of busy places over time; `peak` the most at once."""

    requests: dict[str, Tally] = field(default_factory=dict[str, Tally])
    log: list[tuple[float, float, int]] = field(default_factory=list[tuple[float, float, int]])
    """(arrival, end, status) of each request, monotonic seconds; status 0 is a connection that the client closed."""
    statuses: dict[int, int] = field(default_factory=dict[int, int])
    busy: int = 0
    peak: int = 0
    busy_s: float = 0.0
    changed_at: float = field(default_factory=time.monotonic)

    @property
    def started(self) -> int:
        """Requests that arrived."""
        return sum(t.started for t in self.requests.values())

    @property
    def completed(self) -> int:
        """Requests that were answered whole."""
        return sum(t.completed for t in self.requests.values())

    def occupy(self, change: int) -> None:
        """A place was taken (+1) or left (-1)."""
        now = time.monotonic()
        self.busy_s += self.busy * (now - self.changed_at)
        self.changed_at = now
        self.busy += change
        self.peak = max(self.peak, self.busy)

    def to_json(self) -> dict[str, JsonValue]:
        """Totals for `/stats`."""
        tallies = self.requests.values()
        return {
            "started": self.started,
            "completed": self.completed,
            "distinct": len(self.requests),
            "paid_twice": sum(t.completed > 1 for t in tallies),
            "statuses": {str(k): v for k, v in sorted(self.statuses.items())},
            "busy": self.busy,
            "peak": self.peak,
            "busy_s": self.busy_s,
        }
