"""What a gate said about one candidate, with the evidence that stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["accept_new_best", "accept", "reject", "force_accept", "draft", "undecided"]
"""`draft`: not proven, and nothing speaks against it; `undecided`: too few units could be measured to say anything."""


@dataclass(frozen=True)
class Evidence:
    """Counts over the decided prefix of the gate's order, in units (an item, or an item's repeat)."""

    wins: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    evaluated: int = 0
    total: int = 0
    missing: int = 0
    early_stopped: bool = False
    bound: float | None = None
    """The most the candidate's mean could still have reached when an early stop decided."""
    interval: tuple[float, float] | None = None
    """95 % interval of the mean difference; only for a complete evaluation, whose order cannot bias it."""
    p: float | None = None
    """One-sided p-value of the paired rule; of an early acceptance the most it could have become, else None."""
    alpha: float | None = None
    """Level of the paired rule's look."""

    @property
    def coverage(self) -> float:
        """Measured share of the evaluated units."""
        return (self.evaluated - self.missing) / self.evaluated if self.evaluated else 0.0


@dataclass(frozen=True)
class Verdict:
    """An action and why. `score` is the candidate's gate score over the whole selection split, or None when an early
    stop left it unmeasured (a mean over a chosen prefix is nobody's score)."""

    action: Action
    score: float | None
    evidence: Evidence
    reason: str
    density: tuple[float, float] | None = None
    """Bonus for leading words of candidate and current skill; it is in no score. None where the gate knows none."""

    @property
    def accepted(self) -> bool:
        """True when the candidate becomes the current skill."""
        return self.action in ("accept", "accept_new_best", "force_accept")
