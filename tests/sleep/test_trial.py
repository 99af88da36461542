"""S1 and S2 on the gate of the night: what it accepts without an effect, and what with one."""

from random import Random

import pytest

from skillopt.sleep.trial.decision import Sample, TaskPair, Terms, confirmation, look_at, merged, noise_of
from skillopt.sleep.trial.power import one_trial, power_of

SKILL_AND_MEMORY = Terms(0.05 / 2)


def accepted_nights(rates: tuple[float, float], n: int, nights: int) -> float:
    """Share of nights in which the skill's or the memory's trial is accepted."""
    draw = Random(f"{rates} {n}")
    return sum(
        any(one_trial(draw, rates, n, 3, 6, SKILL_AND_MEMORY) for _ in range(2)) for _ in range(nights)
    ) / nights  # fmt: skip


@pytest.mark.slow_campaign
@pytest.mark.parametrize("n", [1, 3, 5, 8, 13])
@pytest.mark.parametrize("rate", [0.6, 0.9])
def test_s1_edits_without_effect_are_accepted_in_at_most_one_night_of_twenty(rate: float, n: int) -> None:
    assert accepted_nights((rate, rate), n, 500) <= 0.05


def test_s1_sample() -> None:
    assert accepted_nights((0.6, 0.6), 13, 120) <= 0.05
    assert accepted_nights((0.6, 0.6), 5, 40) == 0


@pytest.mark.parametrize("nights", [60, pytest.param(200, marks=pytest.mark.slow_campaign)])
def test_s2_a_true_effect_is_accepted(nights: int) -> None:
    draw = Random(2)
    assert sum(one_trial(draw, (0.5, 0.9), 12, 3, 6, SKILL_AND_MEMORY) for _ in range(nights)) >= 0.8 * nights


def test_s2_with_three_tasks_it_is_never_accepted_and_always_unproven() -> None:
    draw = Random(3)
    for _ in range(50):
        pairs = [pair(str(i), [0.0] * 3, [float(draw.random() < 0.9) for _ in range(3)]) for i in range(3)]
        assert look_at(pairs, SKILL_AND_MEMORY, number=1).verdict == "unproven"


def pair(name: str, before: list[float | None], after: list[float | None]) -> TaskPair:
    return TaskPair(name, *(tuple(Sample(v, v == 1) for v in side) for side in (before, after)))  # pyright: ignore


def test_all_won_is_accepted_at_five_tasks_and_confirmed_only_by_a_gain() -> None:
    won = [pair(str(i), [0.0, 0.0], [1.0, 1.0]) for i in range(5)]
    look = look_at(won, Terms(0.05), number=1)
    assert (look.verdict, look.p, look.effect, look.n) == ("accept", 1 / 32, 1.0, 5)
    assert look_at(won, Terms(0.05), number=2).verdict == "unproven"  # a later look has half the level
    assert confirmation(won, Terms(0.05)).verdict == "accept"
    same = [pair(str(i), [1.0, 0.0], [1.0, 0.0]) for i in range(5)]
    assert confirmation(same, Terms(0.05)).verdict == "reject"


def test_a_task_that_always_passed_and_never_does_any_more_is_over_the_budget() -> None:
    pairs = [pair(str(i), [0.0], [1.0]) for i in range(9)] + [pair("old", [1.0], [0.0])]
    look = look_at(pairs, Terms(0.05), number=1)
    assert (look.verdict, look.regressed) == ("reject", ("old",))
    assert look_at(pairs, Terms(0.05, regression_budget=1), number=1).verdict == "accept"
    assert confirmation(pairs, Terms(0.05)).verdict == "reject"


def test_missing_samples_never_help() -> None:
    won = [pair(str(i), [0.0] * 4, [1.0] * 4) for i in range(5)]
    hole = merged(won[:4], [pair("4", [0.0] * 4, [1.0, 1.0, 1.0, None])])
    assert look_at(hole, Terms(0.05), number=1).verdict == "accept"  # a single loss of four leaves every task won
    gone = [*won[:4], pair("4", [0.0] * 4, [None] * 4)]
    assert look_at(gone, Terms(0.05), number=1).verdict == "undecided"
    thin = [pair(str(i), [0.0, None], [1.0, None]) for i in range(6)]
    assert look_at(thin, Terms(0.05), number=1).verdict == "undecided"
    assert look_at(thin, Terms(0.05, coverage_floor=0.5), number=1).verdict == "undecided"  # worst case: not proven


def test_noise_is_the_incumbents_difference_from_itself() -> None:
    assert noise_of([pair("a", [1.0, 0.0], [1.0, 1.0]), pair("b", [1.0, 1.0], [0.0, 0.0])]) == 0.5
    assert noise_of([pair("a", [1.0], [1.0])]) is None


def test_a_plan_says_what_can_be_shown() -> None:
    few = power_of(3, repeats=3, max_repeats=6, level=0.025)
    assert (few.gain, few.short, few.error) == (None, 3, 0.0)
    enough = power_of(8, repeats=3, max_repeats=3, level=0.05)
    assert enough.gain is not None and 0.2 <= enough.gain <= 0.5 and enough.error <= 0.05
