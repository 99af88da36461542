"""What is believed of edits before they were tried, as the precision matrix of a normal distribution.

An edit has two effects, one on any item and a further one on the items that it was proposed for; they are related.
Edits of one family (wordings, variants of one idea) are related too: what one does is mostly what the idea does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillopt.optimizer.factorial.algebra import Floats


@dataclass(frozen=True)
class Prior:
    """What is believed of an edit before it was tried; variances are of scores in [0, 1]."""

    mean: float = 0.0
    spread: float = 0.05
    """Standard deviation of an edit's effect on any item."""
    own_spread: float = 0.3
    """The same of its further effect on the items that it was proposed for."""
    relation: float = 0.7
    """Correlation of the two."""
    kinship: float = 0.8
    """Correlation of the effects of two edits of one family."""
    pair_spread: float = 0.06
    item_spread: float = 0.18
    noise: float = 0.2
    """Variance of an outcome that no edit explains."""


def prior_of(prior: Prior, families: Sequence[int], pairs: int, means: Sequence[float] | None) -> tuple[Floats, Floats]:
    """Precision matrix and mean: intercept, two effects a factor, one a pair. `families[n]` is factor `n`'s."""
    count = len(families)
    size = 1 + 2 * count + pairs
    matrix, centre = np.zeros((size, size)), np.zeros(size)
    matrix[0, 0], centre[0] = 1.0, 0.5
    mains = 1 + 2 * np.arange(count)
    # The further effect is a multiple of the first one, and a rest of its own.
    slope = prior.relation * prior.own_spread / prior.spread
    rest = prior.own_spread**2 * (1 - prior.relation**2)
    matrix[mains, mains] = slope**2 / rest
    matrix[mains + 1, mains + 1] = 1 / rest
    matrix[mains, mains + 1] = matrix[mains + 1, mains] = -slope / rest
    centre[mains] = prior.mean if means is None else means
    members: dict[int, list[int]] = {}
    for n, family in enumerate(families):
        members.setdefault(family, []).append(1 + 2 * n)
    own = 1 / (prior.spread**2 * (1 - prior.kinship))
    for columns in members.values():
        if len(columns) == 1:
            matrix[columns[0], columns[0]] += 1 / prior.spread**2
            continue
        shared = own * prior.kinship / (1 + (len(columns) - 1) * prior.kinship)
        matrix[np.ix_(columns, columns)] -= shared
        matrix[columns, columns] += own
    for k in range(1 + 2 * count, size):
        matrix[k, k] = 1 / prior.pair_spread**2
    return matrix, centre


def weighted(matrix: Floats, centre: Floats) -> Floats:
    """`matrix` times a mean that is mostly zeros, in one order on every machine."""
    out = np.zeros(len(centre))
    for k in np.flatnonzero(centre):
        out += matrix[:, k] * centre[k]
    return out
