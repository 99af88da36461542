"""Schedules for the edit budget (the textual learning rate).

A schedule maps a step to the largest number of edits that step may apply. It is a pure function of (step, total
steps): resuming, replaying or skipping a step cannot shift it. Rounding is half-to-even, as in the published code;
the first step is already decayed (t = 1/T), the last equals the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from skillopt.core.errors import ConfigError

UNLIMITED = 999
SCHEDULES = ("constant", "linear", "cosine", "autonomous")


def unrounded(name: str, step: int, total: int, maximum: int, minimum: int) -> float:
    """The budget before rounding, as the console shows it. Raises `ValueError` outside 1..total, `ConfigError` for an
    unknown name."""
    if step < 1:
        raise ValueError(f"step {step} is outside 1..{total}")
    t = min(step, total) / max(total, 1)
    shapes: dict[str, Callable[[], float]] = {
        "constant": lambda: maximum,
        "linear": lambda: maximum + (minimum - maximum) * t,
        "cosine": lambda: minimum + 0.5 * (maximum - minimum) * (1 + math.cos(math.pi * t)),
        "autonomous": lambda: UNLIMITED,
    }
    if name not in shapes:
        raise ConfigError(f"optimizer.lr_scheduler={name!r} is unknown", hint=f"choose one of {', '.join(SCHEDULES)}")
    if total <= 1 and name in ("linear", "cosine"):
        return float(maximum)
    return shapes[name]()


def edit_budget(name: str, step: int, total: int, maximum: int, minimum: int) -> int:
    """Edits allowed at `step`, counted from 1. `constant` and `autonomous` are not clamped to the minimum."""
    value = unrounded(name, step, total, maximum, minimum)
    if name in ("constant", "autonomous"):
        return int(value)
    if total <= 1:
        return maximum
    return max(minimum, round(value))
