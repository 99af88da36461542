"""How many calls an endpoint takes at a time: learned from refusals, remembered, tried again slowly.

A refusal cuts the width to what the endpoint still has in flight, which is exact where it counts calls. From then on
the width is *proven*, and one place more is tried after many answers; a refused try doubles the number of answers until
the next, an accepted one doubles the next step. A refusal whose level was mostly answered lately is a hiccup and
changes nothing. When most calls that were sent after a cut are refused as well, the width was not the reason: it is
halved, and the endpoint's wish for a pause concerns every call. Pure: the caller says what it saw, and when.
"""

from __future__ import annotations

from collections import deque

MEMORY = 128
"""Answers and refusals that are remembered: so many that a level seldom in flight shows among them."""
RECENT = 32
"""Of those of a level or above, the last ones tell a hiccup from a limit."""
_ENOUGH = 5
"""Of those, as many must be of the refused level or above."""
_HICCUP = 0.25
"""Up to this share of refusals among them the level is held to be fine."""
PATIENCE, LONGEST_PATIENCE = 2, 32
"""Answers until one place more is tried, for each place: at first, and at most after refused tries."""
PAUSES = 10
"""A try may cost one call the pause that was asked for last; the next comes this many pauses later."""


class Width:
    """The width in force is `value`; `proven` is what the endpoint is known to take. See the module."""

    def __init__(self, width: int, ceiling: int) -> None:
        self.value = self.proven = self._settled = width
        self.ceiling = max(width, ceiling)
        self._limited = False
        """Whether a refusal has shown that the ceiling is too much."""
        self._recent: deque[tuple[int, bool]] = deque(maxlen=MEMORY)
        self._cut_order = self._tried_until = self._streak_from = -1
        self._tried_above = 0
        self._streak = 0
        self._patience, self._step = PATIENCE, 1
        self._answers = 0
        self._try_at = 0.0
        self._before: tuple[int, bool] | None = None

    @property
    def trying(self) -> bool:
        """Whether more than the proven width is in force."""
        return self.value > self.proven

    @property
    def limited(self) -> bool:
        """Whether refusals have shown that the ceiling is too much."""
        return self._limited

    def widen(self, width: int, ceiling: int) -> None:
        """Another role asks for a width: the larger one is in force."""
        self.ceiling = max(self.ceiling, width, ceiling)
        if not self._limited:
            self.value = self.proven = self._settled = max(self.value, width)

    def answered(self, level: int, order: int, now: float) -> None:
        """A call was answered that was sent as number `order`, when `level` calls were in flight, itself included."""
        self._recent.append((level, True))
        if order > self._cut_order:
            self._before = None
        if order > self._streak_from:
            self._streak = 0
        if not self._limited:
            self.value = self.proven = min(self.ceiling, self.value + 1)
        elif self.trying:
            if level > self.proven and order > self._cut_order:
                self._prove(min(level, self.value))
        elif level >= self.value:
            self._answers += 1
            if self._answers >= self._patience * self.value and now >= self._try_at and self.value < self.ceiling:
                self._answers = 0
                self.value = min(self.ceiling, self.proven + self._step)

    def _prove(self, level: int) -> None:
        self._settled, self.proven = self.proven, level
        if self.proven == self.value:
            self._patience, self._step, self._answers = PATIENCE, self._step * 2, 0
            self._limited = self.value < self.ceiling

    def refused(self, level: int, order: int, *, busy: int, newest: int, now: float, retry_after: float | None) -> bool:
        """A call was refused while `busy` were in flight, itself included; `newest` numbers the call sent last. True
        when the pause that was asked for concerns every call."""
        self._recent.append((level, False))
        if order <= self._tried_until and level > self._tried_above:
            return False  # of a try that is over
        if self.trying and level > self.proven:
            self._end_try(newest, now + PAUSES * (retry_after or 0.0))
            return False
        if self._is_hiccup(level):
            return False
        if self._before is None:
            self._before = (self.proven, self._limited)
        severe = busy == 1 or self._is_no_matter_of_width(order, newest)
        value = min(self.proven, busy - 1)
        if severe and order > self._cut_order:
            value //= 2
        self.value = self.proven = self._settled = max(1, value)
        self._cut_order = newest
        self._limited = self.value < self.ceiling
        self._patience, self._step, self._answers = PATIENCE, 1, 0
        return severe

    def _end_try(self, newest: int, again_at: float) -> None:
        """Back to what is proven. The next try takes longer, unless calls are refused by chance as well."""
        by_chance = any(not answered and at <= self.proven for at, answered in self._recent)
        self._cut_order = self._tried_until = newest
        self._tried_above = self.value = self.proven
        self._step, self._answers = 1, 0
        if not by_chance:
            self._patience = min(2 * self._patience, LONGEST_PATIENCE)
            self._try_at = again_at

    def _is_no_matter_of_width(self, order: int, newest: int) -> bool:
        """Whether most of the calls that were sent after a cut were refused, and none answered yet."""
        if self._streak and order > self._streak_from:
            self._streak += 1
        elif not self._streak:
            self._streak, self._streak_from = 1, newest
        return self._streak > 1 and 2 * (self._streak - 1) >= newest - self._streak_from

    def _is_hiccup(self, level: int) -> bool:
        """Whether the level, or the one in force until lately, was mostly answered."""
        outcomes = [answered for at, answered in self._recent if at >= min(level, self._settled)][-RECENT:]
        return len(outcomes) >= _ENOUGH and outcomes.count(False) <= _HICCUP * len(outcomes)

    def restore(self) -> None:
        """Forget the refusals since the last answer: the endpoint was down, which says nothing about its width."""
        if self._before is not None:
            (self.proven, self._limited), self._before = self._before, None
            self.value = self._settled = self.proven
        self._streak = 0
