"""How many examples a property test draws, and how many runs a kill campaign takes.

`make test` draws a part of them, the same at every run; `make test-slow` (`SKILLOPT_TESTS=slow`) draws many, new ones
each time. No deadline: the machine may be busy.
"""

from __future__ import annotations

import os

from hypothesis import settings

SLOW = os.environ.get("SKILLOPT_TESTS") == "slow"
_FACTOR = 10.0 if SLOW else 0.25


def many(count: int) -> int:
    """The number of examples of a test whose full measure is `count`; at least 20."""
    return max(20, round(_FACTOR * count))


def trials(count: int) -> int:
    """The number of killed runs of a campaign whose full measure is `count`: a third of it, or three times it."""
    return 3 * count if SLOW else max(1, count // 3)


def load_profile() -> None:
    """Make this run's profile the default of every property test."""
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=many(100))
    settings.register_profile("slow", deadline=None, max_examples=many(100), print_blob=True)
    settings.load_profile("slow" if SLOW else "quick")
