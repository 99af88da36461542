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
NOISE = 0.1
"""Share of selection items that two draws of one skill are assumed to answer differently, before it is measured."""


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


def proof_is_likely(draft_gains: Sequence[tuple[float, float]], n: int, *, alpha: float) -> bool:
    """True when the gains of a draft's trials make a look at level `alpha` on n items more likely to succeed than not.

    `climb` holds (net gain, losses) of each trial as shares of its items. The gains are shrunk and added; losses are
    what noise turns over, so their mean stands for the noise of one comparison.
    """
    if not draft_gains:
        return False
    noise = math.fsum(losses for _, losses in draft_gains) / len(draft_gains)
    gain = SHRINK * math.fsum(gain for gain, _ in draft_gains)
    return sign_p(math.floor(n * (gain + noise)), math.ceil(n * noise)) <= alpha


def never_passes(n: int, alpha: float) -> bool:
    """True when even n wins without a loss would not reach level `alpha`: such a gate can only refuse."""
    return sign_p(n, 0) > alpha


def least_items(alpha: float) -> int:
    """Fewest items with which a gate at level `alpha` can accept anything."""
    return max(1, math.ceil(-math.log2(alpha)))


def chance_to_pass(n: int, gain: float, noise: float, *, alpha: float) -> float:
    """Power of the paired look on n items: a true gain, and noise that turns that share of items over, half each way.

    Exact for independent wins and losses (two binomials), to within the far tails.
    """
    wins, losses = _likely(n, min(1.0, gain + noise / 2)), _likely(n, min(1.0, noise / 2))
    passed, needed = 0.0, 0
    for lost, chance in losses:
        while needed <= n and sign_p(needed, lost) > alpha:  # more losses never need fewer wins
            needed += 1
        passed += chance * math.fsum(p for won, p in wins if won >= needed)
    return passed


def _likely(n: int, p: float) -> list[tuple[int, float]]:
    """Counts of a binomial with their chances, far tails left out."""
    if p in (0.0, 1.0):
        return [(round(n * p), 1.0)]
    spread = 6 * math.sqrt(n * p * (1 - p)) + 6
    low, high = max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread))
    base, odds = math.lgamma(n + 1), (math.log(p), math.log1p(-p))
    return [
        (k, math.exp(base - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds[0] + (n - k) * odds[1]))
        for k in range(low, high + 1)
    ]


def smallest_gain(n: int, noise: float, *, alpha: float, power: float = 0.8) -> float | None:
    """Smallest gain (0 to 1) that a look passes with the given power, to half a point; None when even 1.0 does not."""
    for step in range(1, 201):
        gain = step / 200
        if chance_to_pass(n, gain, noise, alpha=alpha) >= power:
            return gain
    return None


def items_to_see(gain: float, noise: float, *, alpha: float, power: float = 0.8, most: int = 2000) -> int | None:
    """Items on which a look passes a true gain with the given power; None when `most` are too few."""
    low, high = 1, most
    if chance_to_pass(most, gain, noise, alpha=alpha) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_to_pass(middle, gain, noise, alpha=alpha) >= power else (middle + 1, high)
    return low


def lucky(n: int, noise: float) -> float:
    """Chance that a candidate without any effect scores strictly higher: the strict rule's error in one decision."""
    half = _likely(n, noise / 2)
    return math.fsum(pw * pl for w, pw in half for k, pl in half if w > k)
