"""Intervals that hold at every n: exact ones for right-or-wrong scores, betting for everything else.

Scores of 0 and 1 get the Clopper-Pearson interval. Differences and continuous scores get a betting interval
(Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting") with a mixture of constant
bets fixed in advance, as in Cover's universal portfolio. The wealth of each bet on "the mean is greater than m" is a
product over the values, so their order does not matter; by the inequality of means it is at most 1 at the sample
mean, which therefore always lies inside. No normal approximation, no collapse to a point when all values are equal,
and something close to [-1, 1] rather than something false when n is tiny.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

_FRACTIONS = tuple((k + 0.5) / 12 for k in range(12))
"""Bets as shares of the largest bet that cannot go bankrupt."""
_BISECTIONS = 40


def log_wealth(counts: Mapping[float, int], mean: float) -> float:
    """Log of the mixture's wealth against "the mean of values in [0, 1] is at most `mean`", for 0 < mean < 1."""
    gains = [(x / mean - 1, n) for x, n in counts.items()]
    logs = [math.fsum(n * math.log1p(f * g) for g, n in gains) for f in _FRACTIONS]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(v - top) for v in logs) / len(logs))


def _lower(counts: Mapping[float, int], alpha: float) -> float:
    """Lower confidence bound for the mean of values in [0, 1]; half of `alpha` is spent on each side."""
    threshold = math.log(2 / alpha)
    total = sum(counts.values())
    low, high = 0.0, math.fsum(x * n for x, n in counts.items()) / total
    for _ in range(_BISECTIONS):
        mid = (low + high) / 2
        if mid > 0 and log_wealth(counts, mid) >= threshold:
            low = mid
        else:
            high = mid
    return low


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
    """`(1 − alpha)` interval for the mean of scores in [0, 1]. Raises `ValueError` for fewer than two."""
    if len(values) < 2:
        raise ValueError(f"an interval needs at least 2 scores, got {len(values)}")
    counts = Counter(values)
    if set(counts) <= {0.0, 1.0}:
        n, right = len(values), counts[1.0]
        return _exact_lower(right, n, alpha), 1 - _exact_lower(n - right, n, alpha)
    mirrored = Counter(1 - x for x in values)
    return _lower(counts, alpha), 1 - _lower(mirrored, alpha)


def mean_interval(differences: Sequence[float], *, alpha: float = 0.05) -> tuple[float, float]:
    """`(1 − alpha)` interval for the mean of differences in [-1, 1].

    Raises `ValueError` for fewer than two differences: one observation has no interval.
    """
    if len(differences) < 2:
        raise ValueError(f"an interval needs at least 2 differences, got {len(differences)}")
    counts = Counter((d + 1) / 2 for d in differences)
    mirrored = Counter((1 - d) / 2 for d in differences)
    return 2 * _lower(counts, alpha) - 1, 1 - 2 * _lower(mirrored, alpha)


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p-value of the sign test (McNemar's exact test for binary scores); 1.0 without discordance."""
    n = wins + losses
    if n == 0:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**n)
