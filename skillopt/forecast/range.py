"""Numbers that are not known yet: from the least to the most, and what lies between them most likely."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included, and what is likely: the middle unless something better is known. Two ranges
    with the same bounds are equal."""

    low: float
    high: float
    guess: float | None = field(default=None, compare=False)

    @property
    def likely(self) -> float:
        """The value to expect, between the bounds."""
        if self.guess is None:
            return self.low + (self.high - self.low) / 2
        return min(max(self.guess, self.low), self.high)

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high, self.likely + other.likely)

    def __mul__(self, other: Range) -> Range:
        """Of two ranges of numbers that are not negative."""
        return Range(self.low * other.low, self.high * other.high, self.likely * other.likely)

    def times(self, factor: float) -> Range:
        """Scaled by a number that is not negative."""
        return Range(self.low * factor, self.high * factor, self.likely * factor)


def spread(low: float, high: float) -> Range:
    """A figure whose size is unknown rather than its amount, as tokens and seconds of a call are: the likely value lies
    as many times above `low` as below `high`.

    >>> spread(10, 1000).likely
    100.0
    """
    return Range(low, high, math.sqrt(low * high)) if 0 < low <= high else Range(low, high)


NONE = Range(0, 0)


def total(parts: Iterable[Range]) -> Range:
    """Sum of ranges, end by end."""
    found = [(part.low, part.high, part.likely) for part in parts]
    lows, highs, likely = zip(*found, strict=True) if found else ((), (), ())
    return Range(math.fsum(lows), math.fsum(highs), math.fsum(likely))
