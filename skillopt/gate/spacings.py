"""One test and one interval for means of bounded values, sharp at every n: Gaffke's.

Between the ordered values and the ends of their range lie n + 1 spacings of probability, which are jointly like n + 1
exponential variables over their sum. The mean can then be no lower than the values weighted by such spacings, the first
of which goes to the lowest possible value; how often that falls below m is the p-value against "the mean is at most m"
(Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable").

For wins and losses of paired right-or-wrong scores it is the exact sign test (McNemar), for right-or-wrong scores of
one skill the Clopper-Pearson interval, both proven; `gate.pvalue` and `gate.interval` count those. For everything else
its validity is a conjecture that no enumeration has contradicted. It never rises when a value does (so an early stop is
exact, and a better item cannot undo a proof), and test and interval always agree.

The chance is a sum of weighted exponential variables below zero: an integral along the line through its saddle point,
where nothing oscillates and small chances keep their relative precision.
"""

from __future__ import annotations

import math
from cmath import exp, log
from collections.abc import Callable, Mapping
from functools import lru_cache

_STEP = 0.16
_ENOUGH = 1e-12
_PLACES = 9
_TIE = 1e-12
Weights = Mapping[float, int]
"""Coefficients and how many exponential variables have each."""


def chance_below(counts: Mapping[float, int], lowest: float, mean: float) -> float:
    """p-value against "the mean of values of at least `lowest` is at most `mean`"; 1.0 when no value is above it.

    >>> chance_below({1.0: 5, 0.0: 15}, -1.0, 0.0)
    0.03125
    """
    weights: dict[float, int] = {}
    for value, n in ((lowest, 1), *counts.items()):
        weights[value - mean] = weights.get(value - mean, 0) + n
    weights = {c: n for c, n in weights.items() if abs(c) > _TIE}
    if not any(c > 0 for c in weights):
        return 1.0
    if not any(c < 0 for c in weights):
        return 0.0
    if math.fsum(n * c for c, n in weights.items()) >= 0:
        return float(f"{min(1.0, _tail(weights)):.{_PLACES}g}")
    return float(f"{max(0.0, 1 - _tail({-c: n for c, n in weights.items()})):.{_PLACES}g}")


def lower_bound(counts: Mapping[float, int], lowest: float, alpha: float) -> float:
    """The largest mean against which the p-value is at most `alpha`: a one-sided confidence bound."""
    return _bound(tuple(sorted(counts.items())), lowest, alpha)


@lru_cache(maxsize=4096)
def _bound(rows: tuple[tuple[float, int], ...], lowest: float, alpha: float) -> float:
    counts, top = dict(rows), rows[-1][0]
    if top <= lowest:
        return lowest
    target = math.log(alpha)
    return _crossing(lambda m: math.log(max(chance_below(counts, lowest, m), 1e-300)) - target, lowest, top)


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function that is below zero at `low` and above it at `high` crosses zero (bisection with
    false position, Illinois)."""
    below, above, side = -700.0, rising(high), 0
    for _ in range(80):
        if high - low < 1e-8:
            break
        at = (low * above - high * below) / (above - below)
        at = min(max(at, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        value = rising(at)
        if value <= 0:
            low, below = at, value
            above = above / 2 if side < 0 else above
            side = -1
        else:
            high, above = at, value
            below = below / 2 if side > 0 else below
            side = 1
    return low


def _tail(weights: Weights) -> float:
    """Chance that the weighted sum is negative, where its mean is not."""
    rows = [(c, n) for c, n in weights.items()]
    x = _saddle(rows)
    scale = 1 / math.sqrt(math.fsum(n * (c / (1 + c * x)) ** 2 for c, n in rows) + 1 / x**2)
    height = -math.fsum(n * math.log1p(c * x) for c, n in rows) - math.log(x)
    total, at, k = 0.5 * math.cosh(0.0), 0.0, 0
    while True:
        k += 1
        at = k * _STEP
        t = scale * math.sinh(at)
        s = complex(x, -t)
        value = exp(-sum(n * log(1 + c * s) for c, n in rows) - log(s) - height) * math.cosh(at)
        total += value.real
        if abs(value) < _ENOUGH * abs(total) or at > 40:
            break
    return math.exp(height) * scale * _STEP * total / math.pi


def _saddle(rows: list[tuple[float, int]]) -> float:
    """Where the integrand is lowest on the real line, between zero and the first pole (Newton, kept inside)."""
    low, high = 0.0, 1 / -min(c for c, _ in rows)
    x = high / 2
    for _ in range(60):
        slope = -math.fsum(n * c / (1 + c * x) for c, n in rows) - 1 / x
        low, high = (x, high) if slope < 0 else (low, x)
        curve = math.fsum(n * (c / (1 + c * x)) ** 2 for c, n in rows) + 1 / x**2
        following = x - slope / curve
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) < 1e-4 * x:  # any line through the strip gives the same integral
            return following
        x = following
    return x
