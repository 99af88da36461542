"""Power where it cannot be counted: scores between 0 and 1, and means over repeats, by the product's own test.

The differences of two draws of one skill are the noise. A simulated look takes as many items from them, turns each
difference's sign at random (averaged over the repeats), and is given the fewest items won outright that `paired_p` asks
for. Seeds are fixed: the same numbers give the same answer. With right-or-wrong scores and one draw it comes to what
`gate.power` counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from skillopt.gate.power import POWER
from skillopt.gate.pvalue import paired_p

LOOKS = 120
"""Simulated looks; the power they say is right to about four points."""
_STEPS = 200
_DIGITS = 2


def flips(n: int, noise: float) -> tuple[float, ...]:
    """Differences of n right-or-wrong items of which a share is turned over."""
    turned = round(n * noise)
    return tuple([1.0] * turned + [0.0] * (n - turned))


@lru_cache(maxsize=64)
def gain_seen(
    differences: tuple[float, ...], n: int, *, repeats: int = 1, alpha: float, power: float = POWER
) -> float | None:
    """Smallest share of items won outright (0 to 1) that a look on n items passes; None when even all are too few."""
    if not differences or n < 1:
        return None
    generator = Random(f"{n} {repeats} {alpha}")
    needed = [wins_needed(_noise(differences, n, repeats, generator), alpha=alpha) for _ in range(LOOKS)]
    counts = [k for k in needed if k is not None]
    for step in range(1, _STEPS + 1):
        gain = step / _STEPS
        chance = math.fsum(_at_least(k, n, gain) for k in counts) / LOOKS
        if chance >= power:
            return gain
    return None


def _noise(differences: Sequence[float], n: int, repeats: int, generator: Random) -> list[float]:
    """One look's differences without any gain: as many items, each turned either way in each of its draws."""
    taken = generator.choices(differences, k=n)
    return [round(abs(d) * sum(generator.choice((-1, 1)) for _ in range(repeats)) / repeats, _DIGITS) if d else 0.0
            for d in taken]  # fmt: skip


def wins_needed(noise: Sequence[float], *, alpha: float) -> int | None:
    """Fewest of these items that must be won outright for a proof; None when all of them are too few."""
    n = len(noise)

    def proven(k: int) -> bool:
        return paired_p([1.0] * k + list(noise[k:])) <= alpha

    if not proven(n):
        return None
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if proven(middle) else (middle + 1, high)
    return low


@lru_cache(maxsize=65536)
def _at_least(k: int, n: int, p: float) -> float:
    """Chance of k or more of n."""
    if k <= 0:
        return 1.0
    if p >= 1:
        return 1.0
    base, odds = math.lgamma(n + 1), (math.log(p), math.log1p(-p))
    return math.fsum(
        math.exp(base - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * odds[0] + (n - i) * odds[1])
        for i in range(k, n + 1)
    )
