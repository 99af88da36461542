"""One-sided evidence that a candidate is better on the same items: an exact p-value that holds at every n.

Right-or-wrong scores get the exact sign test (McNemar): given how many items differ, wins of a candidate that is not
better are at most coin flips. Anything else (continuous scores, means over repeats, a non-inferiority margin) gets a
betting e-value, whose reciprocal is a p-value by Markov's inequality (Waudby-Smith and Ramdas 2024). Both are upper
bounds for "the mean difference is at most minus the margin"; neither needs a normal approximation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from skillopt.gate.interval import log_wealth

_SIGNS = frozenset({-1.0, 0.0, 1.0})


@lru_cache(maxsize=4096)
def sign_p(wins: int, losses: int) -> float:
    """Chance of `wins` or more heads in `wins + losses` fair flips; 1.0 when nothing differs."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n


def paired_p(differences: Sequence[float], *, margin: float = 0.0, betting: bool = False) -> float:
    """p-value against "the mean of these differences, each in [-1, 1], is at most -margin". 1.0 for an empty sequence.

    `betting` asks for the e-value even where the sign test applies; it is never the smaller of the two. Raises
    `ValueError` for a margin outside [0, 1).
    """
    if not 0 <= margin < 1:
        raise ValueError(f"margin {margin!r}: give a number from 0 to below 1")
    if not differences:
        return 1.0
    if margin == 0 and not betting and _SIGNS.issuperset(differences):
        return sign_p(sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    shifted = Counter((d + 1) / 2 for d in differences)
    return min(1.0, math.exp(-log_wealth(shifted, (1 - margin) / 2)))


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
