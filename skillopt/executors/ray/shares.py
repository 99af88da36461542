"""How many workers each run on a cluster may have, so that several runs share it fairly.

A small named actor that all runs of one namespace ask every few seconds: max-min fairness over what each could use. Who
has not asked for a while is forgotten. It belongs to whichever run made it and is made anew when that run ends.
"""

from __future__ import annotations

import time

NAME = "skillopt-shares"
_FORGOTTEN_S = 15.0


def fair(wants: dict[str, int], total: int) -> dict[str, int]:
    """Nobody gets more than it wants, and what one leaves the others have; at least one worker for each.

    >>> fair({"a": 10, "b": 1, "c": 10}, 9)
    {'b': 1, 'a': 4, 'c': 4}
    """
    left, shares = total, dict[str, int]()
    waiting = sorted(wants, key=lambda run: (wants[run], run))
    while waiting:
        run = waiting.pop(0)
        shares[run] = max(1, min(wants[run], left // (len(waiting) + 1)))
        left = max(0, left - shares[run])
    return shares


class Shares:
    """The actor."""

    def __init__(self) -> None:
        self._wants: dict[str, tuple[int, float]] = {}

    async def ask(self, run: str, wants: int, total: int) -> int:
        """How many of `total` workers this run may have, which could use `wants`."""
        now = time.monotonic()
        self._wants[run] = (wants, now)
        self._wants = {name: seen for name, seen in self._wants.items() if now - seen[1] < _FORGOTTEN_S}
        return fair({name: seen[0] for name, seen in self._wants.items()}, total)[run]

    async def leave(self, run: str) -> bool:
        """The run has ended."""
        self._wants.pop(run, None)
        return True
