"""Numbers that are not known yet: from the least to the most."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        """Of two ranges of numbers that are not negative."""
        return Range(self.low * other.low, self.high * other.high)

    def times(self, factor: float) -> Range:
        """Scaled by a number that is not negative."""
        return Range(self.low * factor, self.high * factor)


NONE = Range(0, 0)


def total(parts: Iterable[Range]) -> Range:
    """Sum of ranges, end by end."""
    both = [(part.low, part.high) for part in parts]
    return Range(math.fsum(low for low, _ in both), math.fsum(high for _, high in both))
