"""What became of one item: scored, missing, or not measured yet.

A wrong answer is `Scored(0.0, …)`. `Missing` is everything that is not the skill's fault; it never enters a mean, never
becomes a training trace, and is counted on every line that shows a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonObject, JsonValue


@dataclass(frozen=True)
class Scored:
    """A measured result. `hard` and `soft` are finite floats in [0, 1]; `detail` holds what tables and prompts show."""

    hard: float
    soft: float
    fail_reason: str = ""
    predicted: str = ""
    detail: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True)
class Missing:
    """Not measured, and not known to be the skill's fault. `error` is the provider's own words, already redacted;
    `too_long` says that the prompt was refused for its length, which may be the skill's doing (`engine.charging`)."""

    error: str
    too_long: bool = False


@dataclass(frozen=True)
class Pending:
    """Not measured yet."""


Outcome: TypeAlias = Scored | Missing | Pending


def checked(item_id: str, outcome: Scored) -> Scored:
    """The boundary check where a scorer returns. Raises `DataError` naming the item and the value."""
    for name, value in (("hard", outcome.hard), ("soft", outcome.soft)):
        number = cast("object", value)  # a scorer may return anything, whatever its annotation says
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1:
            raise DataError(
                f"item {item_id!r}: the scorer returned {name}={_shown(value)}",
                hint="a score is a finite number from 0 to 1",
            )
    return outcome


def _shown(value: object) -> str:
    """A value in a message: Python writes no whole number of more than 4,300 digits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"something that has no text, a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


@dataclass(frozen=True)
class Score:
    """Unweighted means over scored outcomes, always with n and coverage."""

    hard: float
    soft: float
    n: int
    total: int

    @property
    def coverage(self) -> float:
        """Scored share of all items, 0 to 1."""
        return self.n / self.total

    def __str__(self) -> str:
        return f"{self.hard:.4f} on {self.n} of {self.total}"


def compute_score(outcomes: Iterable[Outcome]) -> Score | None:
    """Means over what was scored; None when items exist but none was measured. Raises `DataError` for an empty set."""
    every = list(outcomes)
    if not every:
        raise DataError("nothing to score: the set of items is empty")
    scored = [o for o in every if isinstance(o, Scored)]
    if not scored:
        return None
    n = len(scored)
    return Score(
        hard=math.fsum(o.hard for o in scored) / n, soft=math.fsum(o.soft for o in scored) / n, n=n, total=len(every)
    )
