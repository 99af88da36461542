"""What a split can show at all: the chance that the product's own test sees a true gain on n items.

Counted, not approximated: an item is won, lost or unchanged, and the exact sign test (`gate.pvalue`) decides, one-sided
for a gate's look, at half its level on either side for the word "Better" in a report. Noise turns a share of the items
over, half of them each way; a gain is a share of items more that is won than lost, so losses come along with it as they
do with a trained skill. Scores between 0 and 1, or means over repeats, are simulated (`gate.simulated`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from skillopt.gate.pvalue import sign_p

NOISE = 0.1
"""Share of items that two draws of one skill are assumed to answer differently, before it is measured."""
LEVEL = 0.05
"""Of the two-sided test of a report: its 95 % interval leaves zero out at this level."""
POWER = 0.8
_STEPS = 200
"""A gain is found to half a point."""


def detectable_gain(n: int, *, noise: float = NOISE, alpha: float = LEVEL, power: float = POWER) -> float:
    """Smallest true gain (0 to 1) that a report calls better with the given power. 1.0 means: none is.

    >>> detectable_gain(4)
    1.0
    """
    return smallest_gain(n, noise, alpha=alpha / 2, power=power) or 1.0


def items_for(gain: float, *, noise: float = NOISE, alpha: float = LEVEL, power: float = POWER) -> int:
    """Items with which a report calls a true gain better. Raises `ValueError` unless 0 < gain ≤ 1."""
    if not 0 < gain <= 1:
        raise ValueError(f"gain {gain!r}: give a number above 0 and at most 1")
    most = 64  # counting over many items is dear, and few need many
    while (found := items_to_see(gain, noise, alpha=alpha / 2, power=power, most=most)) is None:
        most *= 4
    return found


def points_of(gain: float) -> str:
    """A gain that can be shown, in points as it was found: to half a point, never rounded to less.

    >>> points_of(0.405), points_of(0.12)
    ('40.5', '12')
    """
    return f"{math.ceil(200 * gain - 1e-6) / 2:g}"


SHRINK = 0.6
"""What of a gain on training items is believed: the items chose the edits, and a passed trial was a lucky one."""


def proof_is_likely(draft_gains: Sequence[tuple[float, float]], n: int, *, alpha: float) -> bool:
    """True when the gains of a draft's trials make a look at level `alpha` on n items more likely to succeed than not.

    `draft_gains` holds (net gain, losses) of each trial as shares of its items. The gains are shrunk and added; losses
    are what noise turns over, so their mean stands for the noise of one comparison.
    """
    if not draft_gains:
        return False
    noise = math.fsum(losses for _, losses in draft_gains) / len(draft_gains)
    gain = SHRINK * math.fsum(gain for gain, _ in draft_gains)
    return sign_p(math.floor(n * (gain + noise)), math.ceil(n * noise)) <= alpha


def never_passes(n: int, alpha: float) -> bool:
    """True when even n wins without a loss would not reach level `alpha`: such a gate can only refuse."""
    return sign_p(n, 0) > alpha


def least_items(alpha: float) -> int:
    """Fewest items with which a gate at level `alpha` can accept anything."""
    return max(1, math.ceil(-math.log2(alpha)))


def chance_to_pass(n: int, gain: float, noise: float, *, alpha: float) -> float:
    """Power of one look on n items at one-sided level `alpha`, counted over all outcomes (far tails left out).

    >>> round(chance_to_pass(5, 1.0, 0.0, alpha=0.05), 6)
    1.0
    """
    lost = min(noise, 1 - gain) / 2  # a gain leaves no room for more
    won = gain + lost
    differ = min(1.0, won + lost)
    needed = _critical(alpha, n)
    chances = (
        chance * _tail(d, needed[d], min(1.0, won / differ)) for d, chance in _likely(n, differ) if needed[d] <= d
    )
    return math.fsum(chances) if differ else 0.0


@lru_cache(maxsize=256)
def _critical(alpha: float, most: int) -> tuple[int, ...]:
    """Wins that 0 … `most` differing items need to reach level `alpha`; more than there are where none suffices.

    Tails of Pascal's triangle, carried on in whole numbers, so the table says what `sign_p` says.
    """
    wins, tail, last = 1, 0, 1  # of d = 0: C(d, wins) + …, and C(d, wins - 1)
    table = [wins]
    for d in range(1, most + 1):
        tail, last = 2 * tail + last, last * d // (d + 1 - wins)
        if tail / 2**d > alpha:
            last = last * (d + 1 - wins) // wins
            tail, wins = tail - last, wins + 1
        table.append(wins)
    return tuple(table)


def _tail(n: int, least: int, p: float) -> float:
    """Chance of `least` or more of n."""
    return math.fsum(chance for k, chance in _likely(n, p) if k >= least)


def _likely(n: int, p: float) -> list[tuple[int, float]]:
    """Counts of a binomial with their chances, far tails left out."""
    if p in (0.0, 1.0):
        return [(round(n * p), 1.0)]
    spread = 6 * math.sqrt(n * p * (1 - p)) + 6
    low, high = max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread))
    base, odds = math.lgamma(n + 1), (math.log(p), math.log1p(-p))
    return [
        (k, math.exp(base - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds[0] + (n - k) * odds[1]))
        for k in range(low, high + 1)
    ]


@lru_cache(maxsize=1024)
def smallest_gain(n: int, noise: float, *, alpha: float, power: float = POWER) -> float | None:
    """Smallest gain (0 to 1) that a look passes with the given power, to half a point; None when even 1.0 does not."""
    if n < 1 or chance_to_pass(n, 1.0, noise, alpha=alpha) < power:
        return None
    low, high = 0, _STEPS  # more gain never means less power
    while high - low > 1:
        middle = (low + high) // 2
        seen = chance_to_pass(n, middle / _STEPS, noise, alpha=alpha) >= power
        low, high = (low, middle) if seen else (middle, high)
    return high / _STEPS


@lru_cache(maxsize=1024)
def items_to_see(gain: float, noise: float, *, alpha: float, power: float = POWER, most: int = 2000) -> int | None:
    """Items on which a look passes a true gain with the given power; None when `most` are too few."""
    low, high = 1, most
    if chance_to_pass(most, gain, noise, alpha=alpha) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_to_pass(middle, gain, noise, alpha=alpha) >= power else (middle + 1, high)
    return low


def lucky(n: int, noise: float) -> float:
    """Chance that a candidate without any effect scores strictly higher: the strict rule's error in one decision."""
    ties = math.fsum(
        chance * math.exp(math.lgamma(d + 1) - 2 * math.lgamma(d // 2 + 1) - d * math.log(2))
        for d, chance in _likely(n, noise)
        if d % 2 == 0
    )
    return max(0.0, (1 - ties) / 2)


def copy_gains(n: int, noise: float) -> dict[int, float]:
    """What a copy of a skill gains over it on `n` items, net of what it loses, with the chance of each: nothing but
    luck, where noise turns an answer over with the chance `noise` (far tails left out).

    >>> copy_gains(1, 0.5)
    {-1: 0.25, 0: 0.5, 1: 0.25}
    """
    found: dict[int, float] = {}
    for differing, chance in _likely(n, noise):
        for won, part in _likely(differing, 0.5):
            net = 2 * won - differing
            found[net] = found.get(net, 0.0) + chance * part
    return dict(sorted(found.items()))
