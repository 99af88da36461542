"""One-sided evidence that a candidate is better on the same items: a p-value that holds at every n.

Right-or-wrong scores get the exact sign test (McNemar): given how many items differ, wins of a candidate that is not
better are at most coin flips. Anything else (continuous scores, means over repeats, a non-inferiority margin) gets
Gaffke's (`gate.spacings`), which is the same test where both apply. Neither needs a normal approximation, and neither
rises when a score does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from skillopt.gate.spacings import chance_below

_SIGNS = frozenset({-1.0, 0.0, 1.0})


@lru_cache(maxsize=4096)
def sign_p(wins: int, losses: int) -> float:
    """Chance of `wins` or more heads in `wins + losses` fair flips; 1.0 when nothing differs."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n


def paired_p(differences: Sequence[float], *, margin: float = 0.0) -> float:
    """p-value against "the mean of these differences, each in [-1, 1], is at most -margin". 1.0 for an empty sequence.

    Raises `ValueError` for a margin outside [0, 1).
    """
    if not 0 <= margin < 1:
        raise ValueError(f"margin {margin!r}: give a number from 0 to below 1")
    if not differences:
        return 1.0
    if margin == 0 and _SIGNS.issuperset(differences):
        return sign_p(sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    return chance_below(Counter(differences), -1.0, -margin)


def two_sided_p(differences: Sequence[float]) -> float:
    """p-value against "the mean difference is zero": at most 0.05 exactly when the 95 % interval leaves zero out.

    >>> two_sided_p([1.0] * 6)
    0.03125
    """
    return min(1.0, 2 * min(paired_p(differences), paired_p([-d for d in differences])))


def rate_at_most(hits: int, tries: int, *, beta: float) -> float:
    """Upper bound of a rate: above it, so few hits would have had a chance of at most `beta` (Clopper-Pearson)."""
    if hits >= tries:
        return 1.0
    low, high = hits / tries, 1.0
    for _ in range(30):
        mid = (low + high) / 2
        below = sum(math.comb(tries, k) * mid**k * (1 - mid) ** (tries - k) for k in range(hits + 1))
        low, high = (mid, high) if below > beta else (low, mid)
    return high
