"""What a split can show at all: the smallest gain that a paired comparison on n items detects.

Normal approximation of a paired comparison of binary scores. With `discordant` the share of items on which two skills
differ, a mean difference has standard error at most sqrt(discordant / n).
"""

from __future__ import annotations

import math
from statistics import NormalDist

DISCORDANT = 0.3


def detectable_gain(n: int, *, discordant: float = DISCORDANT, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest true gain (0 to 1) found with the given power by a two-sided test at `alpha`. 1.0 means: none is."""
    if n < 2 or discordant <= 0:
        return 1.0
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    return min(1.0, z * math.sqrt(discordant / n))


def items_for(gain: float, *, discordant: float = DISCORDANT, alpha: float = 0.05, power: float = 0.8) -> int:
    """Items needed to detect `gain`. Raises `ValueError` unless 0 < gain ≤ 1."""
    if not 0 < gain <= 1:
        raise ValueError(f"gain {gain!r}: give a number above 0 and at most 1")
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    return math.ceil(discordant * (z / gain) ** 2)
