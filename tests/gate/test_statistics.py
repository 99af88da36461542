"""Intervals that hold at small n, the sign test, and what a split can show."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gate.interval import mean_interval, score_interval
from skillopt.gate.power import detectable_gain, items_for
from skillopt.gate.pvalue import two_sided_p
from tests.examples import many


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=2, max_size=60))
@settings(max_examples=many(100))
def test_interval_is_ordered_inside_its_range_and_mirrors(differences):
    low, high = mean_interval(differences)
    assert -1 <= low <= high <= 1
    mirrored_low, mirrored_high = mean_interval([-d for d in differences])
    assert (mirrored_low, mirrored_high) == pytest.approx((-high, -low), abs=1e-6)


@given(st.lists(st.sampled_from([-1.0, -0.3, 0.0, 0.25, 1.0]), min_size=2, max_size=40), st.randoms())
@settings(max_examples=many(80))
def test_order_does_not_matter_and_the_mean_lies_inside(differences, rng):
    low, high = mean_interval(differences)
    shuffled = list(differences)
    rng.shuffle(shuffled)
    assert mean_interval(shuffled) == pytest.approx((low, high))
    assert low - 1e-9 <= sum(differences) / len(differences) <= high + 1e-9


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(6, 16, 0.1520, 0.6457), (0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (5, 50, 0.0333, 0.2181)],
)
def test_right_or_wrong_scores_get_the_exact_interval(right, n, low, high):
    assert score_interval([1.0] * right + [0.0] * (n - right)) == pytest.approx((low, high), abs=2e-4)


def test_equal_differences_do_not_collapse_to_a_point():
    low, high = mean_interval([0.0] * 20)
    assert low < -0.05 and high > 0.05
    low, high = mean_interval([1.0] * 10)
    assert 0 < low < 0.95 and high == pytest.approx(1.0)


def test_one_difference_has_no_interval():
    with pytest.raises(ValueError, match="at least 2"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="at least 2"):
        score_interval([1.0])


def test_few_observations_claim_nothing():
    for n in range(2, 6):
        low, high = mean_interval([1.0] * n)
        assert low < 0 and high == pytest.approx(1.0), f"{n} wins of {n} are no proof"


@pytest.mark.parametrize(("win", "loss", "n"), [(0.3, 0.1, 30), (0.1, 0.1, 40), (0.5, 0.0, 20)])
def test_coverage_is_at_least_the_nominal_level(win, loss, n):
    rng = random.Random(7)
    truth, misses, runs = win - loss, 0, 300
    for _ in range(runs):
        sample = [1.0 if (u := rng.random()) < win else -1.0 if u < win + loss else 0.0 for _ in range(n)]
        low, high = mean_interval(sample)
        misses += not low <= truth <= high
    assert misses <= 0.05 * runs


def test_a_clear_gain_excludes_zero_and_noise_does_not():
    assert mean_interval([1.0] * 10 + [0.0] * 30)[0] > 0
    assert mean_interval([1.0, -1.0] * 10 + [0.0] * 20)[0] < 0


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (6, 0, 0.03125), (0, 6, 0.03125), (5, 1, 0.21875), (3, 3, 1.0)]
)
def test_the_two_sided_test_is_the_sign_test(wins, losses, p):
    assert two_sided_p([1.0] * wins + [-1.0] * losses + [0.0] * 3) == pytest.approx(p)


def test_power_matches_the_published_example():
    assert detectable_gain(24) == pytest.approx(0.313, abs=0.002)
    assert detectable_gain(1) == 1.0
    assert items_for(detectable_gain(50)) == 50
    with pytest.raises(ValueError, match="gain"):
        items_for(0)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=30))
@settings(max_examples=60)
def test_the_interval_leaves_zero_out_exactly_when_the_test_rejects(differences):
    low, high = mean_interval(differences)
    p = two_sided_p(differences)
    if abs(p - 0.05) > 1e-6:
        assert (low > 0 or high < 0) == (p < 0.05)
