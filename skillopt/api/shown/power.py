"""What a number of items can show: the smallest gain that a report calls better, and how many items a gain takes."""

from __future__ import annotations

from skillopt.gate.power import LEVEL, NOISE, POWER, detectable_gain, items_for, points_of

__all__ = ["detectable_gain", "items_for", "shows"]


def shows(gain: float) -> str:
    """What a split can show: the smallest gain (0 to 1) that a report calls better, with what the figure assumes.

    >>> shows(0.12)
    'shows gains of 12 points or more (80 % power at 5 % two-sided, if luck turns 10 % of the items over)'
    """
    if gain >= 1:
        return "shows no gain at all"
    return (
        f"shows gains of {points_of(gain)} points or more ({100 * POWER:.0f} % power at {100 * LEVEL:.0f} % two-sided, "
        f"if luck turns {100 * NOISE:.0f} % of the items over)"
    )
