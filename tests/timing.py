"""CPU seconds in tests: what is slow is slow each time, and a busy machine is measured again."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 4


def cpu(action: Callable[[], object]) -> float:
    """CPU seconds of this process for one call."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


def within(seconds: float, action: Callable[[], object]) -> bool:
    """Whether one of a few calls takes at most `seconds` of CPU time."""
    return any(cpu(action) <= seconds for _ in range(TRIES))


def is_linear(action: Callable[[int], object], size: int, *, factor: float, slack: float) -> bool:
    """Whether four times the size takes at most `factor` times the CPU time and `slack`; a square takes sixteen."""
    return any(cpu(lambda: action(4 * size)) < factor * cpu(lambda: action(size)) + slack for _ in range(TRIES))
