"""A world for gates alone: items that are solved or not, edits with a known true effect, noise on every answer.

Sets of items are bit masks. An edit fixes some unsolved items and breaks some solved ones, each with its own chance, so
its true effect on the population is known exactly; what it does to the items at hand is one draw of that. Half of the
items are easy and half are hard: hard ones are answered with three times the noise. Judge noise turns a score over
after the answer, alike for every item.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

EASY, HARD = 0.5, 1.5
"""Response noise of the two halves, as multiples of the cell's."""


@dataclass(frozen=True)
class Cell:
    """What an optimizer proposes and how noisy the target is. Effects are shares of all items."""

    name: str
    good: float = 0.0
    """Chance that a proposed edit helps, by `gain`."""
    bad: float = 0.0
    """Chance that it harms, by `harm`. The rest does nothing, or trades `churn` for `churn`."""
    gain: float = 0.05
    harm: float = 0.04
    churn: float = 0.0
    accuracy: float = 0.6
    noise: float = 0.05
    judge_noise: float = 0.0


NOTHING_HELPS = (
    Cell("edits do nothing"),
    Cell("edits do nothing, judge noise", judge_noise=0.05),
    Cell("edits trade 5 for 5 points", churn=0.05),
    Cell("every edit harms by 3", bad=1.0, harm=0.03),
)
FEW_HELP = (
    Cell("10 % help by 4, 40 % harm by 4", 0.1, 0.4, gain=0.04),
    Cell("10 % help by 8, 40 % harm by 4", 0.1, 0.4, gain=0.08),
)
MANY_HELP = (
    Cell("40 % help by 5, 20 % harm by 3", 0.4, 0.2, harm=0.03),
    Cell("40 % help by 3, 20 % harm by 3", 0.4, 0.2, gain=0.03, harm=0.03),
)


@dataclass(frozen=True)
class State:
    """A skill: which items it solves (mask over all items) and its accuracy in the population."""

    solved: int
    accuracy: float


def sparse(generator: random.Random, n: int, chance: float) -> int:
    """A mask of n bits, each set with a chance, drawn by the gaps between set bits."""
    if chance <= 0:
        return 0
    if chance >= 1:
        return (1 << n) - 1
    mask, at, scale = 0, -1, math.log1p(-chance)
    while True:
        at += 1 + int(math.log(1.0 - generator.random()) / scale)
        if at >= n:
            return mask
        mask |= 1 << at


class World:
    """All items of one run, and its random stream."""

    def __init__(self, cell: Cell, items: int, seed: int) -> None:
        self.cell, self.items = cell, items
        self._random = random.Random(seed)
        self._half = items // 2
        self.start = State(sparse(self._random, items, cell.accuracy), cell.accuracy)

    def propose(self, state: State) -> State:
        """What the next edit makes of a skill."""
        cell, draw = self.cell, self._random.random()
        fix = brk = 0.0
        if draw < cell.good:
            fix = min(1.0, cell.gain / max(1e-9, 1 - state.accuracy))
        elif draw > 1 - cell.bad:
            brk = min(1.0, cell.harm / max(1e-9, state.accuracy))
        elif cell.churn:
            fix = min(1.0, cell.churn / max(1e-9, 1 - state.accuracy))
            brk = min(1.0, cell.churn / max(1e-9, state.accuracy))
        fixed, broken = sparse(self._random, self.items, fix), sparse(self._random, self.items, brk)
        solved = (state.solved & ~broken) | (~state.solved & fixed & ((1 << self.items) - 1))
        return State(solved, state.accuracy + (1 - state.accuracy) * fix - state.accuracy * brk)

    def answers(self, state: State) -> int:
        """One draw of every item: which are scored right."""
        noise, rest = self.cell.noise, self.items - self._half
        wrong = sparse(self._random, self._half, EASY * noise)
        wrong |= sparse(self._random, rest, HARD * noise) << self._half
        return state.solved ^ wrong ^ sparse(self._random, self.items, self.cell.judge_noise)

    def batch(self, items: list[int], size: int) -> list[int]:
        """A random sample of items."""
        return self._random.sample(items, min(size, len(items)))
