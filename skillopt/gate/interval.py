"""An interval for a mean of bounded differences that holds at every n, for binary and for continuous scores alike.

Method: the hedged betting interval of Waudby-Smith and Ramdas (2024, "Estimating means of bounded random variables by
betting", section 4.4), with predictable plug-in bets tuned for the given n. It needs no normal approximation, does not
collapse to a point when all differences are equal, and says [-1, 1] rather than something false when n is tiny.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_TRUNCATION = 0.75
_BISECTIONS = 44


def _bets(values: Sequence[float], alpha: float) -> list[float]:
    """Bet sizes, each a function of earlier values only."""
    n = len(values)
    total, squares, bets = 0.5, 0.25, list[float]()
    variance = 0.25
    for count, x in enumerate(values, start=1):
        bets.append(math.sqrt(2 * math.log(2 / alpha) / (n * variance)))
        total += x
        mean = total / (count + 1)
        squares += (x - mean) ** 2
        variance = squares / (count + 1)
    return bets


def _lower(values: Sequence[float], alpha: float) -> float:
    """Lower confidence bound for the mean of values in [0, 1]."""
    bets = _bets(values, alpha)
    threshold = math.log(2 / alpha)

    def rejected(m: float) -> bool:
        wealth = 0.0
        for x, bet in zip(values, bets, strict=True):
            wealth += math.log1p(min(bet, _TRUNCATION / m) * (x - m))
            if wealth >= threshold:
                return True
        return False

    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        mid = (low + high) / 2
        if rejected(mid):
            low = mid
        else:
            high = mid
    return low


def mean_interval(differences: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """`(1 − alpha)` interval for the mean of differences in [-1, 1], given in an order that does not depend on them.

    Raises `ValueError` for fewer than two differences: one observation has no interval.
    """
    if len(differences) < 2:
        raise ValueError(f"an interval needs at least 2 differences, got {len(differences)}")
    unit = [(d + 1) / 2 for d in differences]
    low = _lower(unit, alpha)
    high = 1 - _lower([1 - x for x in unit], alpha)
    return 2 * low - 1, 2 * high - 1


def score_interval(values: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """`(1 − alpha)` interval for the mean of scores in [0, 1]. Raises `ValueError` for fewer than two."""
    if len(values) < 2:
        raise ValueError(f"an interval needs at least 2 scores, got {len(values)}")
    return _lower(values, alpha), 1 - _lower([1 - x for x in values], alpha)


def by_item(values: Iterable[tuple[str, float]]) -> list[float]:
    """One mean for each item, in the order of first mention. An interval over repeats as if they were items is too
    narrow: repeats of one item tell little about other items."""
    groups: dict[str, list[float]] = {}
    for item, value in values:
        groups.setdefault(item, []).append(value)
    return [math.fsum(group) / len(group) for group in groups.values()]


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p-value of the sign test (McNemar's exact test for binary scores); 1.0 without discordance."""
    n = wins + losses
    if n == 0:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**n)
