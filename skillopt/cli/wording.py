"""Numbers and verdicts as people read them. Pure functions; unknown is shown as unknown, never as 0."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol


def number(value: float | None, digits: int = 4) -> str:
    """A score; None is `not measured`."""
    return "not measured" if value is None else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """A share, 0 to 1, as a percentage."""
    return f"{100 * value:.0f} %"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def interval(bounds: Sequence[float] | None) -> str:
    """`[0.31, 0.55]`, or a dash when n was too small for one."""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "–"


def thousands(value: float | None) -> str:
    """A count with separators; None is `unknown`."""
    return "unknown" if value is None else f"{round(value):,}"


def rough(value: float) -> str:
    """A count that is only guessed, to two figures.

    >>> rough(31947), rough(264), rough(7)
    ('32,000', '260', '7')
    """
    whole = round(value)
    return f"{round(whole, min(0, 2 - len(str(whole)))):,}"


def usd(value: float | None) -> str:
    """Money; None is `unknown`."""
    if value is None:
        return "unknown"
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def duration(seconds: float | None) -> str:
    """Seconds, minutes or hours; None is `unknown`."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def clock_time(when: float) -> str:
    """Seconds since 1970 as the time of day here: `02:14`."""
    return time.strftime("%H:%M", time.localtime(when))


class Measured(Protocol):
    """A score with what it rests on."""

    @property
    def hard(self) -> float | None: ...
    @property
    def n(self) -> int: ...
    @property
    def total(self) -> int: ...


def score_words(score: Measured | None, value: float | None = None) -> str:
    """`0.6200 on 38 of 40`: the hard mean, or the value of another metric."""
    if score is None or score.hard is None:
        return "not measured"
    text = f"{number(score.hard if value is None else value)} on {score.n}"
    return text if score.total in (0, score.n) else f"{text} of {score.total}"


def plural(count: int, word: str) -> str:
    """`1 edit`, `2 edits`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
