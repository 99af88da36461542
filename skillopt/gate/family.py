"""Several claims at once: which of them hold when the chance of a single false one among them is kept.

Holm's step-down procedure needs nothing of how the claims depend on each other (the runs of several seeds share their
baseline), rejects everything that Bonferroni's does, and more.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float | None], alpha: float) -> tuple[bool, ...]:
    """Which p-values hold jointly at level `alpha`; None never does, and counts as a claim all the same.

    >>> holm([0.01, 0.04, None, 0.013], 0.05)
    (True, False, False, True)
    """
    order = sorted(range(len(values)), key=lambda n: 1.0 if values[n] is None else float(values[n] or 0.0))
    held: set[int] = set()
    for rank, n in enumerate(order):
        value = values[n]
        if value is None or value > alpha / (len(values) - rank):
            break
        held.add(n)
    return tuple(n in held for n in range(len(values)))
