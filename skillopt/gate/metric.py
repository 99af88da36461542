"""The number that a gate compares: hard, soft, or a mixture of both, per scored outcome, in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.outcome import Outcome, Scored


@dataclass(frozen=True)
class Metric:
    """`hard`, `soft`, or `mixed` = (1 − w)·hard + w·soft with w clamped to [0, 1]."""

    name: str = "hard"
    weight: float = 0.5

    def __post_init__(self) -> None:
        if self.name not in ("hard", "soft", "mixed"):
            raise ValueError(f"gate metric {self.name!r}: choose hard, soft or mixed")

    def of(self, outcome: Scored) -> float:
        """Value of one scored outcome."""
        if self.name == "hard":
            return outcome.hard
        if self.name == "soft":
            return outcome.soft
        w = min(1.0, max(0.0, self.weight))
        return (1 - w) * outcome.hard + w * outcome.soft

    def value(self, outcome: Outcome) -> float | None:
        """Value of an outcome, None when it was not measured."""
        return self.of(outcome) if isinstance(outcome, Scored) else None

    def mean(self, outcomes: Sequence[Outcome]) -> float | None:
        """Unweighted mean over scored outcomes, None when nothing was measured."""
        values = [v for v in map(self.value, outcomes) if v is not None]
        return math.fsum(values) / len(values) if values else None
