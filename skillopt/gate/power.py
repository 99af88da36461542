"""What a split can show at all: the smallest gain that a paired comparison on n items detects.

Normal approximation of a paired comparison of binary scores. With `discordant` the share of items on which two skills
differ, a mean difference has standard error at most sqrt(discordant / n).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from skillopt.gate.pvalue import sign_p

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


SHRINK = 0.6
"""What of a gain on training items is believed: the items chose the edits, and a passed trial was a lucky one."""


def proof_is_likely(climb: Sequence[tuple[float, float]], n: int, *, alpha: float) -> bool:
    """True when the gains of a draft's trials make a look at level `alpha` on n items more likely to succeed than not.

    `climb` holds (net gain, losses) of each trial as shares of its items. The gains are shrunk and added; losses are
    what noise turns over, so their mean stands for the noise of one comparison.
    """
    if not climb:
        return False
    noise = math.fsum(losses for _, losses in climb) / len(climb)
    gain = SHRINK * math.fsum(gain for gain, _ in climb)
    return sign_p(math.floor(n * (gain + noise)), math.ceil(n * noise)) <= alpha


def never_passes(n: int, alpha: float) -> bool:
    """True when even n wins without a loss would not reach level `alpha`: such a gate can only refuse."""
    return sign_p(n, 0) > alpha


def least_items(alpha: float) -> int:
    """Fewest items with which a gate at level `alpha` can accept anything."""
    return max(1, math.ceil(-math.log2(alpha)))
