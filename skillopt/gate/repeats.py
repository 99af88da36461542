"""Repeats of one item are not independent measurements: what an interval may count is items."""

from __future__ import annotations

import math
from collections.abc import Iterable


def by_item(values: Iterable[tuple[str, float]]) -> list[float]:
    """One mean for each item, in the order of first mention.

    An interval over repeats as if they were items is too narrow: repeats of one item tell little about other items.
    """
    groups: dict[str, list[float]] = {}
    for item, value in values:
        groups.setdefault(item, []).append(value)
    return [math.fsum(group) / len(group) for group in groups.values()]
