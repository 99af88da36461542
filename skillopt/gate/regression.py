"""Whether something became worse: the same test and the same interval as everywhere, asked the other way round.

`held` does not say that nothing was lost; it says that no loss beyond the margin was shown, and the interval says how
large a loss is excluded. Too few measured items are neither held nor lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skillopt.gate.interval import mean_interval
from skillopt.gate.pvalue import two_sided_p

Standing = Literal["held", "regressed", "not measured"]
_MOST = 2_000


@dataclass(frozen=True)
class Regression:
    """`after` minus `before` on the `n` items measured on both sides, of `total`. `interval` is at the level's."""

    standing: Standing
    n: int
    total: int
    won: tuple[str, ...]
    lost: tuple[str, ...]
    delta: float
    interval: tuple[float, float] | None
    p: float
    margin: float
    level: float


def regression(
    before: Mapping[str, float | None],
    after: Mapping[str, float | None],
    *,
    margin: float = 0.0,
    level: float = 0.05,
    floor: float = 0.95,
) -> Regression:
    """Judge two measurements of the same items. It has regressed where the whole interval lies below `-margin`.

    >>> same = {f"q{n}": 1.0 for n in range(20)}
    >>> regression(same, {**same, "q3": 0.0}).standing
    'held'
    >>> regression(same, {**same, **{f"q{n}": 0.0 for n in range(8)}}).standing
    'regressed'
    """
    common = [name for name in before if name in after]
    found = {name: (before[name], after[name]) for name in common}
    differences = {name: b - a for name, (a, b) in found.items() if a is not None and b is not None}
    values = list(differences.values())
    interval = mean_interval(values, alpha=level) if len(values) > 1 else None
    standing: Standing = "held"
    if interval is None or len(values) < floor * len(common):
        standing = "not measured"
    elif interval[1] < -margin:
        standing = "regressed"
    return Regression(
        standing, len(values), len(common),
        tuple(name for name, d in differences.items() if d > 0),
        tuple(name for name, d in differences.items() if d < 0),
        math.fsum(values) / len(values) if values else 0.0, interval, two_sided_p(values), margin, level,
    )  # fmt: skip


def fewest_items(margin: float = 0.0, level: float = 0.05) -> int:
    """With fewer items nothing could be shown even if all of them were lost.

    >>> fewest_items(), fewest_items(level=0.05 / 5)
    (6, 8)
    """
    n = 2
    while n < _MOST and mean_interval([-1.0] * n, alpha=level)[1] >= -margin:
        n += 1
    return n
