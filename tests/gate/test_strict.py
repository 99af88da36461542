"""The strict gate: exact arithmetic, early stop with the verdict of the full evaluation (I9), any width."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.outcome import Missing, Scored
from skillopt.gate.metric import Metric
from skillopt.gate.stream import drive
from skillopt.gate.strict import StrictGate, Unit, failures_first, file_order
from tests.examples import many

SCORES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1, allow_nan=False)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=40)


def units(values: list[float | None]) -> list[Unit]:
    return [Unit(n, f"i{n}", v) for n, v in enumerate(values)]


def decide(pairs: list[tuple[float | None, float | None]], *, early: bool, order=failures_first, best=None, floor=0.95):
    gate_units = order(units([i for i, _ in pairs]), {})
    gate = StrictGate(gate_units, early=early, coverage_floor=floor, best_score=best)
    for unit in gate_units:
        if gate.settled:
            break
        gate.observe(pairs[unit.index][1])
    return gate.verdict()


@given(PAIRS)
@settings(max_examples=many(400))
def test_i9_early_stop_gives_the_verdict_of_the_full_evaluation(pairs):
    early, full = decide(pairs, early=True), decide(pairs, early=False)
    assert early.action == full.action
    assert early.evidence.evaluated <= full.evidence.evaluated == len(pairs)
    if early.accepted:
        assert early.score == full.score, "an accepted candidate is measured whole"


MISSING = st.lists(st.tuples(SCORES, SCORES | st.none()), min_size=1, max_size=25)


@given(MISSING, st.floats(0, 1))
@settings(max_examples=many(400))
def test_i9_holds_with_missing_outcomes_too(pairs, floor):
    early, full = decide(pairs, early=True, floor=floor), decide(pairs, early=False, floor=floor)
    assert early.action == full.action


@given(PAIRS)
def test_a_candidate_is_kept_only_if_its_mean_is_strictly_greater(pairs):
    from fractions import Fraction

    gain = sum(Fraction(c) - Fraction(i) for i, c in pairs)
    assert decide(pairs, early=True).accepted == (gain > 0)


@given(PAIRS)
def test_a_copy_of_the_current_skill_is_rejected(pairs):
    assert decide([(i, i) for i, _ in pairs], early=True).action == "reject"


def test_float_noise_does_not_make_a_tie_a_win():
    verdict = decide([(0.1, 0.3), (0.2, 0.0), (0.3, 0.3)], early=False)
    assert 0.1 + 0.2 != 0.3, "the naive sum would call this a gain"
    assert verdict.action == "reject"


def test_hopeless_candidate_costs_only_the_failures_of_the_incumbent():
    pairs = [(1.0, 0.0)] * 70 + [(0.0, 0.0)] * 30
    verdict = decide(pairs, early=True)
    assert (verdict.action, verdict.evidence.evaluated, verdict.evidence.early_stopped) == ("reject", 30, True)
    assert verdict.score is None and verdict.evidence.bound == pytest.approx(0.70)
    assert decide(pairs, early=True, order=file_order).evidence.evaluated == 30, "70 losses are noticed at the 30th"


def test_accept_and_accept_new_best_differ_by_the_best_score():
    pairs = [(0.0, 1.0), (0.0, 0.0)]
    assert decide(pairs, early=True, best=None).action == "accept_new_best"
    assert decide(pairs, early=True, best=0.25).action == "accept_new_best"
    assert decide(pairs, early=True, best=0.5).action == "accept"


def test_missing_outcomes_are_no_score_and_below_the_floor_nothing_is_decided():
    lost = decide([(0.0, 1.0)] * 18 + [(1.0, None)] * 2, early=True)
    assert lost.action == "undecided" and lost.score is None
    assert lost.evidence.missing == 2 and lost.evidence.coverage == pytest.approx(0.9)
    one = decide([(0.0, 1.0)] * 39 + [(1.0, None)], early=True)
    assert one.action == "accept_new_best" and one.score == 1.0, "39 of 40 measured: the lost one takes no part"


def test_volatile_items_come_first_among_equals():
    order = failures_first(units([1.0, 0.0, 1.0, 0.5]), {"i2": 3})
    assert [u.name for u in order] == ["i1", "i3", "i2", "i0"]


@given(PAIRS, st.integers(1, 12), st.integers(0, 6), st.integers(0, 10**6))
@settings(max_examples=many(60))
def test_width_and_arrival_order_change_nothing(pairs, width, speculation, seed):
    order = failures_first(units([i for i, _ in pairs]), {})

    def run(width: int, speculation: int, delays: list[int]):
        gate = StrictGate(order, early=True, coverage_floor=0.95, best_score=None)
        alive = 0

        async def one(position: int, certain: bool) -> float:
            nonlocal alive
            alive += 1
            try:
                for _ in range(delays[position]):
                    await asyncio.sleep(0)
                return pairs[order[position].index][1]
            finally:
                alive -= 1

        results = asyncio.run(drive(gate, len(order), one, lambda v: v, width=width, speculation=speculation))
        assert alive == 0, "something was left running"
        return results, gate.verdict()

    delays = [random.Random(seed + n).randrange(8) for n in range(len(order))]
    assert run(width, speculation, delays) == run(1, 0, [0] * len(order))


def test_without_speculation_only_needed_units_are_started():
    pairs = [(1.0, 0.0)] * 10 + [(0.0, 0.0)] * 10
    order = failures_first(units([i for i, _ in pairs]), {})
    gate = StrictGate(order, early=True, coverage_floor=0.95, best_score=None)
    started: list[int] = []

    async def one(position: int, certain: bool) -> float:
        started.append(position)
        await asyncio.sleep(0)
        return pairs[order[position].index][1]

    asyncio.run(drive(gate, len(order), one, lambda v: v, width=64, speculation=0))
    assert len(started) == gate.seen == 10


def test_an_error_leaves_nothing_running():
    gate = StrictGate(units([0.0] * 8), early=True, coverage_floor=0.95, best_score=None)
    ended: list[int] = []

    async def one(position: int, certain: bool) -> float:
        try:
            await asyncio.sleep(0.01 if position == 2 else 5)
            raise RuntimeError("provider down")
        finally:
            ended.append(position)

    with pytest.raises(BaseException):  # noqa: B017 - the point is what is left after it
        asyncio.run(asyncio.wait_for(drive(gate, 8, one, lambda v: v, width=8, speculation=8), 0.2))
    assert sorted(ended) == list(range(8))


def test_metric_mixes_and_clamps():
    outcome = Scored(1.0, 0.5)
    assert Metric("hard").of(outcome) == 1.0
    assert Metric("soft").of(outcome) == 0.5
    assert Metric("mixed", 0.25).of(outcome) == pytest.approx(0.875)
    assert Metric("mixed", 7).of(outcome) == 0.5
    assert Metric("hard").value(Missing("429")) is None
    assert Metric("hard").mean([outcome, Missing("429")]) == 1.0
    with pytest.raises(ValueError, match="hrad"):
        Metric("hrad")


def test_repeats_of_an_item_do_not_narrow_the_interval():
    """Five equal draws of ten items say no more about other items than one draw of each."""
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]

    def interval(repeats: int):
        names = [(f"i{n}", k) for n in range(10) for k in range(repeats)]
        gate = StrictGate(
            [Unit(n, f"{item}#{k}", 0.0, item) for n, (item, k) in enumerate(names)],
            early=False, coverage_floor=0.95, best_score=None,
        )  # fmt: skip
        for item, _ in names:
            gate.observe(values[int(item[1:])])
        return gate.verdict().evidence.interval

    assert interval(5) == interval(1) is not None
