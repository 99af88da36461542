"""The model against a dense computation, exactness, missing outcomes, pairs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from skillopt.optimizer.factorial.algebra import cholesky, solve_lower, solve_upper
from skillopt.optimizer.factorial.interactions import demanded
from skillopt.optimizer.factorial.model import Evidence, Prior, posterior

ITEMS = [f"i{n}" for n in range(20)]
OWNERS = [{"i0", "i1"}, set[str](), {"i3"}]
PRIOR = Prior()


def _rows(count: int, seed: int, *, joint: float = 0.0) -> list[tuple[str, frozenset[int], float]]:
    luck = random.Random(seed)
    rows: list[tuple[str, frozenset[int], float]] = []
    for _ in range(count):
        subset = frozenset(n for n in range(3) if luck.random() < 0.5)
        p = 0.4 + 0.2 * (0 in subset) - 0.1 * (1 in subset) + joint * ({0, 2} <= subset)
        rows.append((luck.choice(ITEMS), subset, float(luck.random() < p)))
    return rows


def _evidence(rows: list[tuple[str, frozenset[int], float]]) -> Evidence:
    evidence = Evidence(ITEMS)
    for row in rows:
        evidence.add(*row)
    return evidence


def test_the_posterior_is_that_of_the_full_model_with_a_level_for_each_item() -> None:
    evidence = _evidence(_rows(300, 1))
    belief = posterior(evidence, OWNERS, PRIOR)
    table = evidence.columns(OWNERS, ())
    levels = np.zeros((300, 20))
    levels[np.arange(300), evidence.items] = 1
    design = np.hstack([table, levels])
    cov = np.zeros((27, 27))
    cov[0, 0] = 1
    for n in range(3):
        both = PRIOR.relation * PRIOR.spread * PRIOR.own_spread
        cov[1 + 2 * n : 3 + 2 * n, 1 + 2 * n : 3 + 2 * n] = [[PRIOR.spread**2, both], [both, PRIOR.own_spread**2]]
    cov[7:, 7:] = np.eye(20) * PRIOR.item_spread**2
    precision = np.linalg.inv(cov) + design.T @ design / PRIOR.noise
    centre = np.zeros(27)
    centre[0] = 0.5
    mean = np.linalg.solve(precision, np.linalg.inv(cov) @ centre + design.T @ np.array(evidence.scores) / PRIOR.noise)
    assert belief.mean == pytest.approx(mean[:7], abs=1e-9)
    assert belief.sd() == pytest.approx(np.sqrt(np.diag(np.linalg.inv(precision)))[:7], abs=1e-9)


def test_effects_are_found_with_intervals_that_hold_them() -> None:
    effects = posterior(_evidence(_rows(3000, 2)), OWNERS, PRIOR).effects()
    for effect, truth in zip(effects, (0.2, -0.1, 0.0), strict=True):
        assert effect.low < truth < effect.high
    assert effects[0].positive > 0.999 and effects[1].positive < 0.001


def test_step_by_step_and_at_once_give_the_same_bits() -> None:
    rows = _rows(200, 3)
    at_once = posterior(_evidence(rows), OWNERS, PRIOR)
    evidence = Evidence(ITEMS)
    for at in range(0, 200, 7):
        for row in rows[at : at + 7]:
            evidence.add(*row)
        grown = posterior(evidence, OWNERS, PRIOR)
    assert grown.mean.tobytes() == at_once.mean.tobytes() and grown.lower.tobytes() == at_once.lower.tobytes()


def test_missing_outcomes_are_left_out_and_wrong_scores_refused() -> None:
    rows = _rows(50, 4)
    with_missing = Evidence(ITEMS)
    for item, subset, score in rows:
        with_missing.add(item, subset, score)
        with_missing.add(item, subset, None)
    assert (
        posterior(with_missing, OWNERS, PRIOR).mean.tobytes()
        == posterior(_evidence(rows), OWNERS, PRIOR).mean.tobytes()
    )
    with pytest.raises(ValueError, match=r"\[0, 1\].*'i3'"):
        with_missing.add("i3", frozenset(), 1.2)


@pytest.mark.parametrize(("joint", "expected"), [(0.0, ()), (-0.3, ((0, 2),))])
def test_a_pair_gets_a_term_only_where_the_data_demand_it(joint: float, expected: tuple[tuple[int, int], ...]) -> None:
    evidence = _evidence(_rows(1500, 5, joint=joint))
    assert demanded(evidence, OWNERS, posterior(evidence, OWNERS, PRIOR), among=[0, 1, 2]) == expected
    belief = posterior(evidence, OWNERS, PRIOR, pairs=expected)
    both = belief.value(frozenset({0, 2})) - belief.value(frozenset({0})) - belief.value(frozenset({2}))
    assert both + belief.value(frozenset()) == pytest.approx(joint, abs=0.12)


def test_algebra_solves() -> None:
    luck = np.random.default_rng(0)
    root = luck.normal(size=(9, 9))
    matrix, right = root @ root.T + np.eye(9), luck.normal(size=(9, 3))
    lower = cholesky(matrix)
    assert lower @ lower.T == pytest.approx(matrix)
    assert lower @ solve_lower(lower, right) == pytest.approx(right)
    assert lower.T @ solve_upper(lower, right[:, 0]) == pytest.approx(right[:, 0])
    with pytest.raises(ValueError, match="positive definite"):
        cholesky(-matrix)
