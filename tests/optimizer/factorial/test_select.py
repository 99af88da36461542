"""What is kept, what is left to win, where rollouts go, families and needs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from benchmarks.factorial_edits import EditWorld
from benchmarks.factorial_simulation import run
from benchmarks.factorial_worlds import SHAPES
from skillopt.core.editing.edit import Edit
from skillopt.optimizer.factorial.design import Rotation, best_subset
from skillopt.optimizer.factorial.model import Belief, effect_of
from skillopt.optimizer.factorial.pool import Pool, Proposal
from skillopt.optimizer.factorial.prior import Prior, prior_of
from skillopt.optimizer.factorial.search import Settings
from skillopt.optimizer.factorial.select import beyond_training, left_to_win, told_by_data

PRIOR = Prior()


def _posterior(estimate: float, variance: float) -> tuple[float, float]:
    """Mean and standard deviation of an effect that data alone estimate like this."""
    precision = 1 / variance + 1 / PRIOR.spread**2
    return estimate / variance / precision, precision**-0.5


@pytest.mark.parametrize(("estimate", "sd"), [(0.1, 0.02), (-0.04, 0.05), (0.0, 0.01)])
def test_what_the_data_say_alone_is_found_again(estimate: float, sd: float) -> None:
    told = told_by_data(effect_of(*_posterior(estimate, sd**2)), PRIOR)
    assert told == pytest.approx((estimate, sd**2), abs=1e-9)


def test_few_items_say_less_of_others_than_their_rollouts_seem_to() -> None:
    known = effect_of(*_posterior(0.08, 0.01**2))
    many, few = (beyond_training(known, n, PRIOR, spread=0.15, mean=0.0) for n in (400, 9))
    assert many.mean == pytest.approx(known.mean, rel=0.03) and few.mean < 0.6 * known.mean
    # Of nine items: the mean of nine draws of spread .15 beside the rollouts' own .01.
    wide = 0.01**2 + 0.15**2 / 9
    assert (few.mean, few.sd) == pytest.approx(_posterior(0.08, wide), abs=1e-6)
    assert beyond_training(known, 0, PRIOR, spread=0.15, mean=-0.01).mean == -0.01


def test_nothing_is_left_to_win_where_every_edit_is_known() -> None:
    known = [(effect_of(*_posterior(e, 0.01**2)), e > 0) for e in (0.1, 0.07, -0.05, 0.0, 0.0)]
    assert left_to_win(known, PRIOR, worth=0.008) < 0.001
    in_doubt = (effect_of(*_posterior(0.05, 0.04**2)), False)
    assert left_to_win([*known, in_doubt], PRIOR, worth=0.008) > 0.005
    wrongly_kept = (effect_of(*_posterior(-0.05, 0.01**2)), True)
    assert left_to_win([wrongly_kept], PRIOR, worth=0.008) > 0.03
    untried = (effect_of(0.0, PRIOR.spread), False)
    assert left_to_win([untried], PRIOR, worth=0.008) == pytest.approx(0.25 * 0.07 * 0.3989, abs=1e-4)


def test_rollouts_go_to_the_items_that_can_tell_most_and_every_item_still_comes() -> None:
    items = [f"i{n}" for n in range(10)]
    rotation = Rotation(items, random.Random(0))
    seen = dict.fromkeys(items, 0)
    for _ in range(10):
        taken = rotation.take(4, {"i3": 1.0, "i7": 0.5}, focus=2)
        assert len(taken) == 4 and {"i3", "i7"} <= set(taken)
        for item in taken:
            seen[item] += 1
            rotation.draw(item)
    assert min(seen.values()) >= 2
    assert sorted(Rotation(items, random.Random(0)).take(10)) == items, "without worth it is a pass over all"


def test_edits_of_one_family_are_believed_alike() -> None:
    matrix, centre = prior_of(PRIOR, [0, 1, 0], 1, None)
    cov = np.linalg.inv(matrix)
    assert cov[1, 1] == pytest.approx(PRIOR.spread**2) and cov[2, 2] == pytest.approx(PRIOR.own_spread**2)
    assert cov[1, 5] == pytest.approx(PRIOR.kinship * PRIOR.spread**2) and cov[1, 3] == pytest.approx(0, abs=1e-12)
    assert cov[1, 2] == pytest.approx(PRIOR.relation * PRIOR.spread * PRIOR.own_spread)
    assert cov[7, 7] == pytest.approx(PRIOR.pair_spread**2) and centre.tolist() == [0.5] + [0.0] * 7


def test_a_further_wording_joins_as_an_alternative() -> None:
    pool = Pool()
    for text in ("- Give dates in ISO form.", "- Make sure dates are in ISO form."):
        pool.add(Proposal(Edit("append", content=text), addressed=("a",)), 1)
    variant = pool.try_variant(0, 4)
    assert variant is not None and (variant.number, variant.family, variant.own) == (1, 0, {"a"})
    assert pool.members(0) == {0, 1} and pool.feasible([1, 0]) == {1} and pool.try_variant(0, 5) is None


@pytest.mark.parametrize(("both", "expected"), [(0.10, {0, 1}), (0.02, set[int]())])
def test_what_needs_another_is_taken_by_what_both_are_worth(both: float, expected: set[int]) -> None:
    pool = Pool()
    for text in ("- alpha one", "- beta two"):
        pool.add(Proposal(Edit("append", content=text)), 1)
    pool.relate((), {(1, 0)})
    columns = np.array([0.5, -0.04, 0.0, both, 0.0])
    assert best_subset(pool, Belief(columns, np.eye(5), 2), columns, price=0.0) == expected


def test_replacements_and_deletions_of_lines_are_found() -> None:
    row = run(EditWorld(SHAPES["edits"], 1), Settings(rollouts=600, calls=24), 1)
    world = EditWorld(SHAPES["edits"], 1)
    assert row["truth"] > world.truth(world.lines({}, frozenset())) + 0.1
