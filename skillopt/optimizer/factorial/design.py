"""Which subset each rollout of a round gets.

A round is cut into groups of items; the items of a group share one subset, hence one prompt, so that a provider's
prefix cache serves them. At first every edit is in half of the groups, exactly, in an order drawn for each edit; later
each group draws effects from the posterior and takes what comes out positive after the price of its length (Thompson
sampling): what is known to help is in, what is known to harm is out, and the rollouts go where the doubt is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.optimizer.factorial.algebra import Floats
from skillopt.optimizer.factorial.model import Belief
from skillopt.optimizer.factorial.pool import Pool, Subset


@dataclass(frozen=True)
class Trial:
    """One rollout to make: this item with this subset. `draw` counts the rollouts of the item, from 0."""

    round: int
    slot: int
    item: str
    subset: Subset
    draw: int


def balanced(pool: Pool, groups: int, luck: random.Random) -> list[Subset]:
    """Subsets in which every open factor is in half of the groups."""
    inside: list[list[int]] = [[] for _ in range(groups)]
    for factor in pool.open:
        order = list(range(groups))
        luck.shuffle(order)
        half = groups // 2 + (luck.random() < 0.5 if groups % 2 else 0)
        for group in order[:half]:
            inside[group].append(factor.number)
    subsets: list[Subset] = []
    for wanted in inside:
        luck.shuffle(wanted)
        subsets.append(pool.feasible(wanted))
    return subsets


def thompson(
    pool: Pool, belief: Belief, groups: int, luck: random.Random, *, price: float, width: float
) -> list[Subset]:
    """Subsets by drawn effects; `width` stretches the posterior, 1 samples it as it is."""
    subsets: list[Subset] = []
    for _ in range(groups):
        drawn = belief.mean + width * (belief.draw(luck) - belief.mean)
        subsets.append(best_subset(pool, belief, drawn, price=price))
    return subsets


def best_subset(pool: Pool, belief: Belief, columns: Floats, *, price: float) -> Subset:
    """The feasible subset with the highest value under given effects, each factor costing `price`.

    Factors are taken by their effect, best first, one that needs another by what both are worth; then single ones are
    put in or taken out while that helps, which is where pairs come in.
    """
    gain = {f.number: float(columns[1 + 2 * f.number]) - price for f in pool.open}
    wanted = sorted((n for n in gain if gain[n] > 0), key=lambda n: (-gain[n], n))
    for number in [n for n in wanted if pool.needs.get(n, n) not in wanted]:
        need = pool.needs[number]
        if gain.get(need, -1.0) + gain[number] > 0 and pool.needs.get(need, need) == need:
            wanted.append(need)
    chosen = set(pool.feasible(wanted))
    if not belief.pairs:
        return frozenset(chosen)
    first = 1 + 2 * belief.factors
    pairs: dict[int, list[tuple[int, float]]] = {}
    for k, (a, b) in enumerate(belief.pairs):
        pairs.setdefault(a, []).append((b, float(columns[first + k])))
        pairs.setdefault(b, []).append((a, float(columns[first + k])))
    touched = sorted(n for n in pairs if n in gain)
    for _ in range(2 * len(touched)):
        worth = {n: gain[n] + sum(v for other, v in pairs[n] if other in chosen) for n in touched}
        drops = [(worth[n], n) for n in touched if n in chosen and worth[n] < 0]
        adds = [(-worth[n], n) for n in touched if n not in chosen and worth[n] > 0 and _fits(pool, n, chosen)]
        if not drops and not adds:
            break
        move = min(drops + adds)
        chosen ^= {move[1]}
    return pool.feasible(sorted(chosen, key=lambda n: (-gain[n], n)))


def _fits(pool: Pool, number: int, chosen: set[int]) -> bool:
    return not pool.excluded_by(number) & chosen and pool.needs.get(number, number) in chosen | {number}


class Rotation:
    """Items in shuffled passes over the whole split: every item comes once before any comes again."""

    def __init__(self, items: Sequence[str], luck: random.Random) -> None:
        self._items, self._luck = list(items), luck
        self._waiting: list[str] = []
        self.drawn: dict[str, int] = dict.fromkeys(items, 0)

    def take(self, count: int, worth: Mapping[str, float] | None = None, focus: int = 0) -> list[str]:
        """The next items; `focus` of them are those that are worth most, by what a rollout of each could tell."""
        known = worth or {}
        value = {item: known[item] / (1 + self.drawn[item]) for item in self._items if known.get(item, 0.0) > 0}
        order = {item: n for n, item in enumerate(self._items)}
        out = sorted(value, key=lambda item: (-value[item], order[item]))[: min(focus, count)]
        while len(out) < count:
            if not self._waiting:
                self._waiting = list(self._items)
                self._luck.shuffle(self._waiting)
            out.append(self._waiting.pop())
        self._luck.shuffle(out)
        return out

    def draw(self, item: str) -> int:
        """How often the item was used before; counts this use."""
        self.drawn[item] += 1
        return self.drawn[item] - 1
