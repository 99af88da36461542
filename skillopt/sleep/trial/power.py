"""What a hold-out can show at all, by playing the night's own gate against itself before a cent is spent.

A simulated night draws right-or-wrong samples at a base rate and at base rate + gain, looks, and confirms, exactly as a
night does. Seeds are fixed, so a plan says the same twice; 120 nights give the power to about four points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from skillopt.gate.permutation import least_items
from skillopt.sleep.trial.decision import Sample, TaskPair, Terms, confirmation, look_at, merged

NIGHTS = 120
BASE = 0.5
POWER = 0.8
_STEPS = 10
_STEP = 0.05


@dataclass(frozen=True)
class Power:
    """What a hold-out of `n` tasks can do. `gain` is the smallest gain it proves in four nights of five, None for none;
    `error` the share of simulated nights in which a proposal without effect was accepted."""

    n: int
    least: int
    gain: float | None
    error: float

    @property
    def short(self) -> int:
        """Tasks that are missing before anything can be proven."""
        return max(0, self.least - self.n)


@lru_cache(maxsize=64)
def power_of(n: int, *, repeats: int, max_repeats: int, level: float) -> Power:
    """Power of one trial on `n` held-out tasks, at the level of one trial."""
    least = least_items(level)
    if n < least:
        return Power(n, least, None, 0.0)
    shape = (n, repeats, max_repeats, level)
    low, high = 0, _STEPS + 1  # more gain never means less power
    while high - low > 1:
        middle = (low + high) // 2
        seen = accepted_share(BASE, BASE + middle * _STEP, *shape, nights=NIGHTS) >= POWER
        low, high = (low, middle) if seen else (middle, high)
    gain = round(high * _STEP, 2) if high <= _STEPS else None
    return Power(n, least, gain, accepted_share(BASE, BASE, *shape, nights=NIGHTS))


def accepted_share(
    before: float, after: float, n: int, repeats: int, max_repeats: int, level: float, *, nights: int
) -> float:
    """Share of simulated nights that accept a proposal which moves every task's pass rate from `before` to `after`."""
    draw = Random(f"{before} {after} {n} {repeats} {max_repeats} {level}")
    terms = Terms(level)
    return sum(one_trial(draw, (before, after), n, repeats, max_repeats, terms) for _ in range(nights)) / nights


def one_trial(draw: Random, rates: tuple[float, float], n: int, repeats: int, max_repeats: int, terms: Terms) -> bool:
    """One simulated trial with its second look and its confirmation."""
    pairs = _drawn(draw, rates, n, repeats)
    look = look_at(pairs, terms, number=1)
    if look.verdict == "open" and max_repeats > repeats:
        pairs = merged(pairs, _drawn(draw, rates, n, max_repeats - repeats))
        look = look_at(pairs, terms, number=2)
    if look.verdict != "accept":
        return False
    return confirmation(_drawn(draw, rates, n, repeats), terms).verdict == "accept"


def _drawn(draw: Random, rates: tuple[float, float], n: int, repeats: int) -> list[TaskPair]:
    def samples(rate: float) -> tuple[Sample, ...]:
        return tuple(Sample(float(hit), hit) for hit in (draw.random() < rate for _ in range(repeats)))

    return [TaskPair(str(i), samples(rates[0]), samples(rates[1])) for i in range(n)]
