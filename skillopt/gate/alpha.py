"""What a run may still risk: one error budget for all looks at the selection split, whoever asks for them.

A look is a test of a candidate against the proven skill. It may spend a share of what is left, the last look of a run
all of it, so the chance that a run without any true gain accepts something is at most `alpha` over all its looks (union
bound; looks need not be independent). An acceptance earns the budget back (alpha-investing, Foster and Stine 2008):
from a proven gain on, the search starts anew. Values only; a run's ledger is replayed from its verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

SHARE = 0.25
"""Of the remaining budget, for a look that is not the last."""


@dataclass(frozen=True)
class AlphaLedger:
    """`alpha` is the run's budget, `left` what remains of it, `looks` how many tests there were."""

    alpha: float
    left: float
    looks: int = 0

    @staticmethod
    def opened(alpha: float) -> AlphaLedger:
        """Nothing spent. Raises `ValueError` unless 0 < alpha < 1."""
        if not 0 < alpha < 1:
            raise ValueError(f"alpha {alpha!r}: give a number between 0 and 1")
        return AlphaLedger(alpha, alpha)

    def price(self, *, last: bool) -> float:
        """The level of the next look."""
        return self.left if last else self.left * SHARE

    def after(self, spent: float, *, accepted: bool) -> AlphaLedger:
        """The ledger after a look at level `spent`."""
        left = self.alpha if accepted else max(0.0, self.left - spent)
        return replace(self, left=left, looks=self.looks + 1)
