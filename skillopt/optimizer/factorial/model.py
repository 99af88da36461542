"""What the rollouts say about each edit: a Bayesian linear model in closed form.

A score is the item's own level, plus the effect of every edit that was in, plus noise. Items differ in level (shrunk
towards the mean of all), so that an edit is not credited with easy items. An edit has two effects: one on any item, by
which it is kept, and a further one on the items that it was proposed for, where it shows first and generalises least;
the two are related by the prior. Pairs of edits get a term of their own only where the data demand it (`interactions`).
Missing outcomes are left out.

Sums over rollouts are exact (columns are 0 or 1, scores are rounded to millionths), so that the order in which outcomes
arrived and the machine that added them up do not show.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillopt.optimizer.factorial.algebra import Floats, cholesky, products, solve_lower, solve_upper
from skillopt.optimizer.factorial.pool import Subset
from skillopt.optimizer.factorial.prior import Prior, prior_of, weighted

_MILLION = 1_000_000


@dataclass(frozen=True)
class Effect:
    """What one edit does to the mean score: estimate and the interval that holds it with probability .95."""

    mean: float
    low: float
    high: float
    positive: float
    """Probability that the effect is above zero."""

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return (self.high - self.low) / 3.92


@dataclass(frozen=True)
class Belief:
    """Posterior of all effects. `mean` and `factor` (Cholesky of the precision) cover every column; effects of factor
    `n` are at column `1 + 2 * n`."""

    mean: Floats
    lower: Floats
    factors: int
    pairs: tuple[tuple[int, int], ...] = ()

    def sd(self) -> Floats:
        """Standard deviation of each column."""
        inverse = solve_lower(self.lower, np.eye(len(self.mean)))
        return np.sqrt(np.sum(inverse * inverse, axis=0))

    def draw(self, luck: random.Random) -> Floats:
        """One sample of all columns."""
        normal = np.array([luck.gauss(0.0, 1.0) for _ in range(len(self.mean))])
        return self.mean + solve_upper(self.lower, normal)

    def effects(self) -> list[Effect]:
        """One effect a factor, by number."""
        sd = self.sd()
        return [effect_of(float(self.mean[1 + 2 * n]), float(sd[1 + 2 * n])) for n in range(self.factors)]

    def value(self, subset: Subset, columns: Floats | None = None) -> float:
        """Expected score of a subset on any item (or that of a sample)."""
        at = self.mean if columns is None else columns
        total = math.fsum(float(at[1 + 2 * n]) for n in sorted(subset)) + float(at[0])
        first = 1 + 2 * self.factors
        both = (float(at[first + k]) for k, (a, b) in enumerate(self.pairs) if a in subset and b in subset)
        return total + math.fsum(both)


def effect_of(mean: float, sd: float) -> Effect:
    """A normal posterior as an effect."""
    return Effect(mean, mean - 1.96 * sd, mean + 1.96 * sd, 0.5 * math.erfc(-mean / (sd * math.sqrt(2))))


class Evidence:
    """The outcomes so far. Rows are in the order of the design, whatever order they arrived in."""

    def __init__(self, items: Sequence[str]) -> None:
        self.item_number = {item: n for n, item in enumerate(items)}
        self.items: list[int] = []
        self.subsets: list[Subset] = []
        self.scores: list[float] = []
        self._sums: Sums | None = None

    def add(self, item: str, subset: Subset, score: float | None) -> None:
        """Take in one outcome; a missing one is left out."""
        if score is None:
            return
        if not 0 <= score <= 1:
            raise ValueError(f"a score must be in [0, 1], got {score!r} for item {item!r}")
        self.items.append(self.item_number[item])
        self.subsets.append(subset)
        self.scores.append(round(score * _MILLION) / _MILLION)

    def columns(self, owners: Sequence[set[str]], pairs: Sequence[tuple[int, int]], start: int = 0) -> Floats:
        """Rows of 0 and 1 from `start` on: intercept, two a factor, one a pair. `owners[n]`: items that factor `n` was
        proposed for."""
        count, rows = len(owners), len(self.items) - start
        table = np.zeros((rows, 1 + 2 * count + len(pairs)))
        table[:, 0] = 1
        own = np.zeros((len(self.item_number), count))
        for n, items in enumerate(owners):
            own[[self.item_number[item] for item in items if item in self.item_number], n] = 1
        for row, subset in enumerate(self.subsets[start:]):
            table[row, [1 + 2 * n for n in subset]] = 1
        mains = table[:, 1 : 1 + 2 * count : 2]
        table[:, 2 : 2 + 2 * count : 2] = mains * own[self.items[start:]]
        for k, (a, b) in enumerate(pairs):
            table[:, 1 + 2 * count + k] = mains[:, a] * mains[:, b]
        return table

    def sums(self, owners: Sequence[set[str]], pairs: Sequence[tuple[int, int]]) -> Sums:
        """Exact sums over all rows, brought up to date."""
        key = (tuple(frozenset(o) for o in owners), tuple(pairs))
        if self._sums is None or self._sums.key != key:
            self._sums = Sums.empty(key, len(self.item_number), 1 + 2 * len(owners) + len(pairs))
        if self._sums.rows < len(self.items):
            start = self._sums.rows
            self._sums.extend(self.columns(owners, pairs, start), self.items[start:], self.scores[start:])
        return self._sums


@dataclass
class Sums:
    """Sums of products of the columns over rollouts, whole and by item. All of them whole numbers."""

    key: tuple[tuple[frozenset[str], ...], tuple[tuple[int, int], ...]]
    rows: int
    gram: Floats
    cross: Floats
    """Columns times scores, in millionths."""
    by_item: Floats
    totals: Floats
    seen: Floats

    @classmethod
    def empty(
        cls, key: tuple[tuple[frozenset[str], ...], tuple[tuple[int, int], ...]], items: int, columns: int
    ) -> Sums:
        """Sums over no rows."""
        zeros = np.zeros
        return cls(
            key, 0, zeros((columns, columns)), zeros(columns), zeros((items, columns)), zeros(items), zeros(items)
        )

    def extend(self, table: Floats, items: Sequence[int], scores: Sequence[float]) -> None:
        """Add rows."""
        millionths = np.rint(np.array(scores) * _MILLION)
        at = np.array(items, dtype=np.int64)
        self.gram += products(table, table)
        self.cross += products(table, millionths)
        np.add.at(self.by_item, at, table)
        np.add.at(self.totals, at, millionths)
        np.add.at(self.seen, at, 1)
        self.rows += len(table)


def posterior(
    evidence: Evidence,
    owners: Sequence[set[str]],
    prior: Prior,
    *,
    pairs: Sequence[tuple[int, int]] = (),
    means: Sequence[float] | None = None,
    families: Sequence[int] | None = None,
) -> Belief:
    """The model's answer to the evidence. `means` gives each factor its own prior mean, `families` the number of its
    family; without it each is alone."""
    count = len(owners)
    before, centre = prior_of(prior, families or range(count), len(pairs), means)
    gram, cross = without_levels(evidence.sums(owners, pairs), prior)
    lower = cholesky(before + gram / prior.noise)
    mean = solve_upper(lower, solve_lower(lower, weighted(before, centre) + cross / _MILLION / prior.noise))
    return Belief(mean, lower, count, tuple(pairs))


def without_levels(sums: Sums, prior: Prior) -> tuple[Floats, Floats]:
    """The sums with the levels of items integrated out; items seen equally often share one exact sum."""
    gram, cross = sums.gram, sums.cross
    ratio = prior.noise / prior.item_spread**2
    for times in sorted({int(n) for n in sums.seen if n}):
        chosen = sums.seen == times
        gram = gram - products(sums.by_item[chosen], sums.by_item[chosen]) / (times + ratio)
        cross = cross - products(sums.by_item[chosen], sums.totals[chosen]) / (times + ratio)
    return gram, cross
