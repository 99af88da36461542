"""The little linear algebra that the model needs, with one result on every machine.

Sums of products over rollouts are exact (see `model`), and what follows here uses elementwise operations in a fixed
order only: no library kernel whose rounding depends on the processor or the number of threads. Some hundred columns
take milliseconds.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def products(one: Floats, other: Floats) -> Floats:
    """`one` transposed times `other`: sums of products over the rows. Exact where both hold whole numbers."""
    return cast("Floats", np.matmul(np.transpose(one), other))


def cholesky(matrix: Floats) -> Floats:
    """Lower triangular `L` with `L @ L.T == matrix`. Raises `ValueError` when the matrix is not positive definite."""
    work = np.array(matrix, dtype=np.float64)
    size = len(work)
    for k in range(size):
        pivot = work[k, k]
        if not pivot > 0:
            raise ValueError(f"the matrix is not positive definite (pivot {k} is {pivot})")
        work[k:, k] /= np.sqrt(pivot)
        rest = work[k + 1 :, k]
        work[k + 1 :, k + 1 :] -= rest[:, None] * rest[None, :]
    return np.tril(work)


def solve_lower(lower: Floats, right: Floats) -> Floats:
    """`x` with `lower @ x == right`; `right` may hold several columns."""
    out = np.array(right, dtype=np.float64)
    for k in range(len(lower)):
        out[k] /= lower[k, k]
        out[k + 1 :] -= _outer(lower[k + 1 :, k], out[k])
    return out


def solve_upper(lower: Floats, right: Floats) -> Floats:
    """`x` with `lower.T @ x == right`; `right` may hold several columns."""
    out = np.array(right, dtype=np.float64)
    for k in range(len(lower) - 1, -1, -1):
        out[k] /= lower[k, k]
        out[:k] -= _outer(lower[k, :k], out[k])
    return out


def _outer(column: Floats, row: Floats | np.float64) -> Floats:
    """`column` times one row of a matrix, or times one number of a vector."""
    return column[:, None] * row[None, :] if isinstance(row, np.ndarray) and row.ndim else column * row
