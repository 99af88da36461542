"""Which pairs of edits get a term of their own: the few whose joint effect the main effects cannot explain.

For each pair of factors that was seen in all four combinations often enough, the residuals of the model say what both
together do beyond the sum. A pair is taken in when that is `z` standard errors from zero, at most `most` of them, the
clearest first, and stays while it is clear.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from skillopt.optimizer.factorial.algebra import Floats, products
from skillopt.optimizer.factorial.model import Belief, Evidence

_LEAST = 12
"""Rollouts in each of the four combinations, below which a pair says nothing."""


def demanded(
    evidence: Evidence,
    owners: list[set[str]],
    belief: Belief,
    *,
    z: float = 3.5,
    most: int = 8,
    noise: float = 0.2,
    among: list[int],
) -> tuple[tuple[int, int], ...]:
    """Pairs that the evidence demands, in the order of their numbers. `belief` holds main effects only."""
    count = belief.factors
    table = evidence.columns(owners, ())
    if not len(table):
        return ()
    item_rows = np.array(evidence.items, dtype=np.int64)
    residual = np.array(evidence.scores) - table @ belief.mean[: table.shape[1]]
    level, seen = np.zeros(len(evidence.item_number)), np.zeros(len(evidence.item_number))
    np.add.at(level, item_rows, residual)
    np.add.at(seen, item_rows, 1)
    residual = residual - (level / (seen + 6.0))[item_rows]
    mains = table[:, 1 : 1 + 2 * count : 2][:, among]
    z_scores = contrasts(mains, residual, noise)
    clear = [
        (-abs(round(float(z_scores[i, j]), 6)), (among[i], among[j]))
        for i, j in combinations(range(len(among)), 2)
        if abs(float(z_scores[i, j])) > z
    ]
    return tuple(sorted(pair for _, pair in sorted(clear)[:most]))


def contrasts(mains: Floats, residual: Floats, noise: float) -> Floats:
    """For each pair (upper triangle) by how many standard errors the contrast of its four combinations is from zero;
    0 where a combination was hardly seen."""
    ones, total = mains.sum(axis=0), float(len(mains))
    one_sums, total_sum = products(mains, residual), float(residual.sum())
    both, both_sums = products(mains, mains), products(mains * residual[:, None], mains)
    counts = [both, ones[:, None] - both, ones[None, :] - both, total - ones[:, None] - ones[None, :] + both]
    sums = [
        both_sums,
        one_sums[:, None] - both_sums,
        one_sums[None, :] - both_sums,
        total_sum - one_sums[:, None] - one_sums[None, :] + both_sums,
    ]
    enough = np.all(np.array(counts) >= _LEAST, axis=0)
    safe = [np.maximum(n, 1.0) for n in counts]
    a, b, c, d = (s / n for s, n in zip(sums, safe, strict=True))
    error = np.sqrt(noise * sum(1 / n for n in safe))
    return np.triu(np.where(enough, (a - b - c + d) / error, 0.0), 1)
