"""Agreement of two raters beyond chance, and of two rankings. Pure; the standard library only.

Cohen's kappa is (observed - chance) / (1 - chance), where chance is what two raters with these shares of verdicts would
agree on by luck. Its interval is the observed agreement's own, carried through that formula with chance as measured.
Spearman's rank correlation is Pearson's of the mean ranks; its interval is Bonett and Wright's, an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

Bounds = tuple[float, float]

FEWEST_FOR_RANKS = 8
"""With fewer pairs the approximation says nothing."""


def chance_agreement(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """Share of agreement by luck, from how often each rater gives each verdict (any weights).

    >>> chance_agreement({"right": 3, "wrong": 1}, {"right": 1, "wrong": 1})
    0.5
    """
    a, b = math.fsum(ours.values()), math.fsum(theirs.values())
    return math.fsum(weight * theirs.get(name, 0.0) for name, weight in ours.items()) / (a * b) if a and b else 0.0


def beyond_chance(agreement: float, chance: float) -> float | None:
    """Cohen's kappa of an observed agreement; None where both give one verdict only, so that nothing can be said.

    >>> beyond_chance(0.75, 0.5), beyond_chance(1.0, 1.0)
    (0.5, None)
    """
    return None if chance >= 1 - 1e-12 else (agreement - chance) / (1 - chance)


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's, ties at their mean rank; None where one side does not vary. Raises `ValueError` for other lengths.

    >>> rank_correlation([1, 2, 3], [10, 30, 20])
    0.5
    """
    if len(xs) != len(ys):
        raise ValueError(f"{len(xs)} values against {len(ys)}")
    a, b = _ranks(xs), _ranks(ys)
    middle = (len(a) + 1) / 2
    top = math.fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    below = math.fsum((x - middle) ** 2 for x in a) * math.fsum((y - middle) ** 2 for y in b)
    return max(-1.0, min(1.0, top / math.sqrt(below))) if below > 0 else None


def rank_interval(correlation: float, n: int, *, alpha: float = 0.05) -> Bounds | None:
    """`(1 - alpha)` interval of a rank correlation over `n` independent pairs; None below `FEWEST_FOR_RANKS`."""
    if n < FEWEST_FOR_RANKS:
        return None
    inside = max(-1 + 1e-9, min(1 - 1e-9, correlation))
    half = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt((1 + inside**2 / 2) / (n - 3))
    return math.tanh(math.atanh(inside) - half), math.tanh(math.atanh(inside) + half)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return ranks
