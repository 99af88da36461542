"""The exact one-sided permutation test over items: would so large a mean difference be luck, if both sides were alike?

When a candidate changes nothing, the samples of both sides of an item could be swapped, so the sign of its mean
difference is a fair coin. The p-value counts, over all 2^n ways to set the signs, how many give a sum at least as large
as the one observed; nothing is sampled and nothing assumed about the scores. It is the sign test where all differences
have one size, and more powerful than a test for the mean (`gate.pvalue`) where items have several repeats; it answers
the narrower question, whether there is any effect at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

_GRID = 1680
"""Steps of one point of score: means of one to eight repeats, and their halves, lie on it exactly."""


def sign_flip_p(differences: Sequence[float]) -> float:
    """p-value against "no effect on any item"; 1.0 for no difference at all. Each difference is in [-1, 1].

    >>> sign_flip_p([1.0] * 5), sign_flip_p([1 / 3, 2 / 3, 0.0, 1.0])
    (0.03125, 0.125)
    """
    steps = [round(d * _GRID) for d in differences]
    divisor = math.gcd(*steps) if steps else 0
    if not divisor:
        return 1.0
    return _tail(tuple(sorted(step // divisor for step in steps)))


@lru_cache(maxsize=4096)
def _tail(steps: tuple[int, ...]) -> float:
    """Share of sign patterns whose sum is at least that of `steps`."""
    width = len(steps) + 1
    counts = 1  # digit i in base 2^width: sign patterns whose positive part comes to i
    for step in steps:
        counts += counts << (abs(step) * width)
    reached = sum(step for step in steps if step > 0)
    tail = counts >> (reached * width)
    return (tail % ((1 << width) - 1)) / 2 ** len(steps)


def least_items(level: float) -> int:
    """Fewest items with which the test can reach a level at all.

    >>> least_items(0.05), least_items(0.025)
    (5, 6)
    """
    return max(1, math.ceil(-math.log2(level) - 1e-12))
