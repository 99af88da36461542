"""The published idea of reflective Pareto search, in the simulated world and at counted calls: a peer to compare with.

A pool of skills, each with its outcomes on the validation split. An iteration draws a parent in proportion to the
validation items on which it is among the best, tries it on a small minibatch of training items, asks one analyst about
the failures, and tries the child on the same minibatch. Only a child that does strictly better there is measured on
the whole validation split and joins the pool. The result is the skill with the best validation mean. Written from the
description of the method; a program of its own, not the peer's code.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.world import World
from benchmarks.world_optimizer import proposals

MINIBATCH = 3


@dataclass(frozen=True)
class Candidate:
    """Rules of a skill and its validation outcomes, in file order."""

    codes: frozenset[str]
    outcomes: tuple[bool, ...]

    @property
    def score(self) -> float:
        """Validation mean."""
        return sum(self.outcomes) / len(self.outcomes)


@dataclass(frozen=True)
class Found:
    """What the search ends with."""

    best: Candidate
    accepted: int
    iterations: int
    target_calls: int
    optimizer_calls: int


def front(pool: Sequence[Candidate]) -> list[int]:
    """For each candidate, on how many items it is among the best; 0 for one that another covers wherever it is best."""
    items = range(len(pool[0].outcomes))
    best = [max(c.outcomes[i] for c in pool) for i in items]
    on = [frozenset(i for i in items if c.outcomes[i] == best[i]) for c in pool]

    def covered(n: int) -> bool:
        return any(on[n] < on[m] or (on[n] == on[m] and m < n) for m in range(len(pool)) if m != n)

    return [0 if covered(n) else len(on[n]) for n in range(len(pool))]


def search(world: World, train: Sequence[int], validation: Sequence[int], *, calls: int, seed: int) -> Found:
    """Search until the next iteration could pass `calls` target calls, validation of the start included."""
    luck = random.Random(f"gepa-like:{world.params.seed}:{seed}")
    pool = [_measured(world, frozenset(), validation)]
    spent, asked, accepted, iterations = len(validation), 0, 0, 0
    waiting: list[int] = []
    while spent + 2 * MINIBATCH + len(validation) <= calls:
        iterations += 1
        parent = luck.choices(pool, front(pool))[0]
        if len(waiting) < MINIBATCH:
            waiting = luck.sample(list(train), len(train))
        batch, waiting = waiting[:MINIBATCH], waiting[MINIBATCH:]
        before = [world.solved(n, parent.codes, 0) for n in batch]
        spent += len(batch)
        if all(before):
            continue
        failed = [n for n, right in zip(batch, before, strict=True) if not right]
        asked += 1
        new = proposals(world, luck, failed, parent.codes, (), world.params.most_edits)
        child = parent.codes | {rule.code for rule in new}
        spent += len(batch)
        if sum(world.solved(n, child, 0) for n in batch) > sum(before):
            accepted += 1
            spent += len(validation)
            pool.append(_measured(world, child, validation))
    return Found(max(pool, key=lambda c: c.score), accepted, iterations, spent, asked)


def _measured(world: World, codes: frozenset[str], items: Sequence[int]) -> Candidate:
    return Candidate(codes, tuple(world.solved(n, codes, 0) for n in items))
