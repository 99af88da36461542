"""Intervals that hold at every n, for the same test as the gate's (`gate.spacings`).

Scores of 0 and 1 get the Clopper-Pearson interval, counted exactly; differences and continuous scores get Gaffke's,
which is the same where both apply. No normal approximation, no collapse to a point when all values are equal, and
something close to [-1, 1] rather than something false when n is tiny. The interval excludes zero exactly when the
two-sided test at its level does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from skillopt.gate.spacings import lower_bound

_BISECTIONS = 40


def _at_least(k: int, n: int, p: float) -> float:
    """Probability of `k` or more successes in `n` trials."""
    if k <= 0:
        return 1.0
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k, n + 1)]
    terms = (c + i * math.log(p) + (n - i) * math.log1p(-p) for i, c in zip(range(k, n + 1), logs, strict=True))
    return min(1.0, math.fsum(map(math.exp, terms)))


def _exact_lower(k: int, n: int, alpha: float) -> float:
    """Clopper-Pearson lower bound: the smallest p under which `k` or more successes are not too rare."""
    low, high = 0.0, k / n
    for _ in range(_BISECTIONS if k else 0):
        mid = (low + high) / 2
        if mid > 0 and _at_least(k, n, mid) < alpha / 2:
            low = mid
        else:
            high = mid
    return low


def score_interval(values: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """`(1 − alpha)` interval for the mean of scores in [0, 1]. Raises `ValueError` for fewer than two.

    >>> [round(x, 4) for x in score_interval([1.0] * 6 + [0.0] * 10)]
    [0.152, 0.6457]
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs at least 2 scores, got {len(values)}")
    counts = Counter(values)
    if set(counts) <= {0.0, 1.0}:
        n, right = len(values), counts[1.0]
        return _exact_lower(right, n, alpha), 1 - _exact_lower(n - right, n, alpha)
    return lower_bound(counts, 0.0, alpha / 2), -lower_bound(Counter(-x for x in values), -1.0, alpha / 2)


def mean_interval(differences: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """`(1 − alpha)` interval for the mean of differences in [-1, 1].

    Raises `ValueError` for fewer than two differences: one observation has no interval.

    >>> [round(x, 3) for x in mean_interval([1.0] * 26 + [0.0] * 14)]
    [0.438, 0.794]
    """
    if len(differences) < 2:
        raise ValueError(f"an interval needs at least 2 differences, got {len(differences)}")
    low = lower_bound(Counter(differences), -1.0, alpha / 2)
    return low, -lower_bound(Counter(-d for d in differences), -1.0, alpha / 2)
