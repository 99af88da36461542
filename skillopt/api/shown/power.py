"""What a number of items can show: the smallest gain that a report calls better or that a look proves, and how many
items a gain takes."""

from __future__ import annotations

from skillopt.gate.alpha import level_of
from skillopt.gate.power import (
    LEVEL,
    NOISE,
    POWER,
    detectable_gain,
    items_for,
    items_to_see,
    points_of,
    smallest_gain,
)

__all__ = ["detectable_gain", "items_for", "items_to_prove", "proves", "seen", "shows"]

_ASSUMED = f"if luck turns {100 * NOISE:.0f} % of the items over"


def shows(gain: float) -> str:
    """What a split can show: the smallest gain (0 to 1) that a report calls better, with what the figure assumes.

    >>> shows(0.12)
    'shows gains of 12 points or more (80 % power at 5 % two-sided, if luck turns 10 % of the items over)'
    """
    if gain >= 1:
        return "shows no gain at all"
    return (
        f"shows gains of {points_of(gain)} points or more ({100 * POWER:.0f} % power at {100 * LEVEL:.0f} % two-sided, "
        f"{_ASSUMED})"
    )


def seen(gain: float) -> str:
    """What a gate sees on its items: the smallest gain (0 to 1) by the test that its rule makes.

    >>> seen(0.275)
    'a gain of 27.5 points is seen with 80 % chance, a smaller one less often'
    """
    if gain >= 1:
        return "no gain is seen with 80 % chance"
    return f"a gain of {points_of(gain)} points is seen with {100 * POWER:.0f} % chance, a smaller one less often"


def proves(items: int, *, alpha: float = LEVEL) -> str:
    """What a selection split proves under the rules `proof` and `factorial`: one look, one-sided, at the level that the
    first ending of a run has.

    >>> proves(50)
    'proves gains of 21 points or more (80 % power at level 0.04, if luck turns 10 % of the items over)'
    """
    level = level_of(alpha, 1)
    gain = smallest_gain(items, NOISE, alpha=level)
    if gain is None:
        return f"proves no gain at all at level {level:g}"
    return (
        f"proves gains of {points_of(gain)} points or more ({100 * POWER:.0f} % power at level {level:g}, {_ASSUMED})"
    )


def items_to_prove(gain: float, *, alpha: float = LEVEL) -> int:
    """Selection items on which that look proves a true gain (0 to 1).

    >>> items_to_prove(0.2)
    53
    """
    return items_to_see(gain, NOISE, alpha=level_of(alpha, 1)) or items_for(gain)
