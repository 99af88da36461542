"""Rates that an endpoint allows: at most so many units (requests, tokens) within any 60 seconds."""

from __future__ import annotations

from collections import deque

WINDOW_S = 60.0


class RateWindow:
    """At most `limit` units within any 60 seconds (a sliding window, so no server's fixed window is passed either)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._spent: deque[list[float]] = deque()
        self._total = 0.0

    def delay(self, now: float, units: float) -> float:
        """Seconds until `units` more fit. A request larger than the limit fits when nothing else is in the window."""
        while self._spent and self._spent[0][0] <= now - WINDOW_S:
            self._total -= self._spent.popleft()[1]
        excess = self._total + min(units, self.limit) - self.limit
        for when, spent in self._spent:
            if excess <= 0:
                break
            excess -= spent
            if excess <= 0:
                return max(0.0, when + WINDOW_S - now)
        return 0.0

    def spend(self, now: float, units: float) -> list[float]:
        """Enter `units`; the entry can be corrected with `correct`."""
        entry = [now, units]
        self._spent.append(entry)
        self._total += units
        return entry

    def correct(self, entry: list[float], units: float) -> None:
        """Replace an entry's estimate by what was used."""
        if self._spent and entry[0] >= self._spent[0][0]:
            self._total += units - entry[1]
            entry[1] = units


def stricter(window: RateWindow | None, limit: int | None) -> RateWindow | None:
    """The window with the smaller of two limits; None and 0 are no limit."""
    if not limit:
        return window
    if window is None:
        return RateWindow(limit)
    window.limit = min(window.limit, limit)
    return window
