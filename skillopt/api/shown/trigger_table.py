"""How well a description is found: recall, precision and false alarms over queries, each with its interval.

A query is drawn several times and counts as firing when the skill was loaded in at least half of its draws. Intervals
are exact ones over queries (draws of one query are not independent); a query that could not be measured counts nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.core.rollout import Rollout
from skillopt.gate.interval import score_interval

HALF = 0.5
_WIDTH = 88


@dataclass(frozen=True)
class QueryRow:
    """One query: in how many of its measured draws the skill was loaded, and which others were."""

    query: str
    should_trigger: bool
    loaded: int
    measured: int
    draws: int
    instead: Mapping[str, int]
    """Other skill → draws in which it was loaded."""

    @property
    def fires(self) -> bool | None:
        """None where nothing could be measured."""
        return self.loaded / self.measured >= HALF if self.measured else None

    @property
    def right(self) -> bool | None:
        """Whether it does what it should."""
        return None if self.fires is None else self.fires == self.should_trigger


@dataclass(frozen=True)
class Share:
    """`hits` of `n`. The interval is None below two."""

    hits: int
    n: int

    @property
    def value(self) -> float | None:
        """None of nothing."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %, exact."""
        return score_interval([1.0] * self.hits + [0.0] * (self.n - self.hits)) if self.n > 1 else None

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {"value": self.value, "hits": self.hits, "n": self.n,
                "interval": list(self.interval) if self.interval else None}  # fmt: skip

    def __str__(self) -> str:
        if self.value is None:
            return "unknown (nothing to count)"
        low, high = self.interval or (0.0, 1.0)
        return f"{self.value:.3f} ({self.hits} of {self.n}, 95 % interval {low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class Triggers:
    """What a description was measured at. The literal invocation has loaded the skill, or there is no such result."""

    skill: str
    description: str
    target: str
    rows: tuple[QueryRow, ...]
    directory: Path
    cost: float | None

    @property
    def recall(self) -> Share:
        """Of the queries that should load the skill, those that do."""
        known = [row for row in self.rows if row.should_trigger and row.fires is not None]
        return Share(sum(bool(row.fires) for row in known), len(known))

    @property
    def precision(self) -> Share:
        """Of the queries that load the skill, those that should."""
        firing = [row for row in self.rows if row.fires]
        return Share(sum(row.should_trigger for row in firing), len(firing))

    @property
    def false_alarms(self) -> Share:
        """Of the queries that should not load the skill, those that do."""
        known = [row for row in self.rows if not row.should_trigger and row.fires is not None]
        return Share(sum(bool(row.fires) for row in known), len(known))

    @property
    def unmeasured(self) -> int:
        """Queries of which no draw was measured."""
        return sum(row.fires is None for row in self.rows)

    def to_dict(self) -> dict[str, JsonValue]:
        """Everything as JSON values."""
        return {
            "skill": self.skill, "description": self.description, "target": self.target,
            "directory": str(self.directory), "cost": self.cost, "recall": self.recall.to_json(),
            "precision": self.precision.to_json(), "false_alarms": self.false_alarms.to_json(),
            "unmeasured": self.unmeasured,
            "queries": [
                {"query": row.query, "should_trigger": row.should_trigger, "loaded": row.loaded,
                 "measured": row.measured, "draws": row.draws, "instead": dict(row.instead)}
                for row in self.rows
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [
            f"{self.skill} in {self.target}: {len(self.rows)} queries; asked for by its name it was loaded",
            f"recall        {self.recall}",
            f"precision     {self.precision}",
            f"false alarms  {self.false_alarms}",
        ]
        wrong = [row for row in self.rows if row.right is False]
        if wrong:
            lines += ["", "Wrong:", *map(_line, wrong)]
        if self.unmeasured:
            lines.append(f"{self.unmeasured} queries could not be measured")
        return "\n".join(lines)


def _line(row: QueryRow) -> str:
    query = " ".join(row.query.split())
    shown = query if len(query) <= _WIDTH else f"{query[: _WIDTH - 1]}…"
    instead = "".join(f", {name} in {count}" for name, count in sorted(row.instead.items()))
    what = "should load it, did in" if row.should_trigger else "should not load it, did in"
    return f"  {shown}\n    {what} {row.loaded} of {row.measured}{instead}"


def rows_of(rollouts: Sequence[Rollout], name: str) -> tuple[QueryRow, ...]:
    """The queries of an evaluation, in file order. `name` is the skill's own."""
    draws: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        draws.setdefault(rollout.item.id, []).append(rollout)
    rows: list[QueryRow] = []
    for group in draws.values():
        data = group[0].item.data
        known = [r for r in group if r.scored is not None]
        instead: dict[str, int] = {}
        for r in known:
            loaded = r.agent.get("skills")
            for other in dict.fromkeys(loaded if isinstance(loaded, list) else []):
                if other != name:
                    instead[str(other)] = instead.get(str(other), 0) + 1
        count = sum(bool(r.agent.get("skill_read")) for r in known)
        should = bool(data["should_trigger"])
        rows.append(QueryRow(str(data["query"]), should, count, len(known), len(group), instead))
    return tuple(rows)
