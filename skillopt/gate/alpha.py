"""What a run may still risk: one error budget for all looks at the selection split, whoever asks for them.

Two ways to spend it. *One proof an ending* (`level_of`, `spent_by`): the first ending takes most of the level, every
further ending of an extended run half of what is left, so the sum stays below the level however often a run is
extended. *Proofs on the way* (`AlphaLedger`): a look tests a candidate against the proven skill and may spend a share
of what is left, the last look of a run all of it; an acceptance earns the budget back (alpha-investing, Foster and
Stine 2008): from a proven gain on, the search starts anew. Either way the chance that a run without any true gain
accepts something is at most `alpha` over all its looks (union bound; looks need not be independent). Values only; a
run's ledger is replayed from its verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

SHARE = 0.25
"""Of the remaining budget, for a look that is not the last."""
FIRST = 0.8
"""Of a run's level, for its first ending. Four fifths cost one ending 0 to 4 points of power, and leave a second one a
tenth of the level (measured in benchmarks/LOG.md)."""
_DIGITS = 12


def level_of(alpha: float, ending: int) -> float:
    """Level of a run's look at its `ending`-th ending, from 1.

    >>> [level_of(0.05, n) for n in (1, 2, 3)]
    [0.04, 0.005, 0.0025]
    """
    share = FIRST if ending == 1 else (1 - FIRST) / 2 ** (ending - 1)
    return float(f"{alpha * share:.{_DIGITS}g}")


def spent_by(alpha: float, ending: int) -> float:
    """The levels of all endings up to this one, summed: the error of the run as a whole, always below `alpha`.

    >>> [spent_by(0.05, n) for n in (1, 2, 3)]
    [0.04, 0.045, 0.0475]
    """
    return float(f"{alpha * (1 - (1 - FIRST) / 2 ** (ending - 1)):.{_DIGITS}g}")


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
