"""Intervals that hold at small n, the sign test, and what a split can show."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gate.interval import mean_interval, score_interval
from skillopt.gate.power import NOISE, _critical, detectable_gain, items_for, lucky, smallest_gain
from skillopt.gate.pvalue import paired_p, sign_p, two_sided_p
from skillopt.gate.simulated import flips, gain_seen
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


def test_power_says_what_the_report_will_say():
    """Eighty per cent was once promised where "Better" came in four cases of ten; here the report itself decides."""
    rng = random.Random(3)
    for n in (20, 40, 100, 200):
        gain = detectable_gain(n)
        lost = min(NOISE, 1 - gain) / 2
        better = 0
        for _ in range(400):
            draws = [
                1.0 if (u := rng.random()) < gain + lost else -1.0 if u < gain + 2 * lost else 0.0 for _ in range(n)
            ]
            better += mean_interval(draws)[0] > 0
        assert 0.76 < better / 400 < 0.92, n  # a step of half a point and the test's own steps lie above 80 %
    assert detectable_gain(24) == pytest.approx(0.405)
    assert detectable_gain(1) == 1.0
    n = items_for(0.2)
    assert detectable_gain(n) <= 0.2 < detectable_gain(n - 4)
    with pytest.raises(ValueError, match="gain"):
        items_for(0)


def test_critical_wins_are_those_of_the_test():
    for alpha in (0.05, 0.025, 0.03125, 0.0125, 0.5):
        for d, needed in enumerate(_critical(alpha, 60)):
            passing = [w for w in range(d + 1) if sign_p(w, d - w) <= alpha]
            assert needed == (passing[0] if passing else d + 1)


def test_simulated_power_is_the_counted_one_where_both_apply():
    for n, noise in ((24, 0.1), (60, 0.2)):
        counted = smallest_gain(n, noise, alpha=0.05)
        simulated = gain_seen(flips(n, noise), n, alpha=0.05)
        assert counted is not None and simulated is not None
        assert simulated == pytest.approx(counted, abs=0.05)


def test_repeats_help_where_answers_are_noisy_and_the_gate_agrees():
    noise = flips(60, 0.4)
    once, four = (gain_seen(noise, 60, repeats=r, alpha=0.05) for r in (1, 4))
    assert once is not None and four is not None and four < once
    rng, passed = random.Random(5), 0
    for _ in range(200):  # the gate's own p-value of means over four draws
        luck = [sum(rng.choice((-1, 1)) for _ in range(4)) / 4 if rng.random() < 0.4 else 0.0 for _ in range(60)]
        passed += paired_p([1.0 if rng.random() < four else d for d in luck]) <= 0.05
    assert passed / 200 > 0.7


def test_a_score_between_zero_and_one_is_seen_at_least_as_well():
    """The plan counts right-or-wrong scores; smaller differences are less noise, so it never promises too much."""
    noise = tuple([0.3] * 12 + [0.0] * 28)
    soft, hard = gain_seen(noise, 40, alpha=0.05), gain_seen(flips(40, 0.3), 40, alpha=0.05)
    assert soft is not None and hard is not None and soft <= hard


def test_the_strict_rules_luck_is_counted():
    rng, n, noise = random.Random(11), 30, 0.2
    higher = 0
    for _ in range(4000):
        turned = sum(rng.random() < noise for _ in range(n))
        higher += 2 * sum(rng.random() < 0.5 for _ in range(turned)) > turned
    assert lucky(n, noise) == pytest.approx(higher / 4000, abs=0.03)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=30))
@settings(max_examples=60)
def test_the_interval_leaves_zero_out_exactly_when_the_test_rejects(differences):
    low, high = mean_interval(differences)
    p = two_sided_p(differences)
    if abs(p - 0.05) > 1e-6:
        assert (low > 0 or high < 0) == (p < 0.05)
