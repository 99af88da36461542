"""The paired look: exact p-values, decisions that no early stop changes, one error budget for a run."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import least_items, never_passes, proof_is_likely
from skillopt.gate.pvalue import paired_p, rate_at_most, sign_p
from skillopt.gate.spacings import chance_below
from skillopt.gate.strict import Unit, failures_first
from skillopt.gate.verdict import Verdict

EXACT = Terms(alpha=0.05, futility=0.0)
BITS = st.sampled_from([0.0, 1.0])
SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
MAYBE = st.one_of(st.none(), BITS)


def units(values: list[float | None]) -> list[Unit]:
    return [Unit(n, f"i{n}", v, f"i{n}") for n, v in enumerate(values)]


def decide(incumbent: list[float | None], candidate: list[float | None], terms: Terms, *, early: bool) -> Verdict:
    order = failures_first(units(incumbent), {})
    gate = PairedGate(order, terms, early=early)
    while not gate.settled:
        gate.observe(candidate[order[gate.seen].index])
    return gate.verdict()


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (1, 0, 0.5), (5, 0, 1 / 32), (8, 0, 1 / 256), (9, 1, 11 / 1024), (3, 3, 42 / 64)],
)
def test_sign_test_golden_values(wins: int, losses: int, p: float) -> None:
    assert sign_p(wins, losses) == p
    assert paired_p([1.0] * wins + [-1.0] * losses + [0.0] * 7) == p


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_gaffkes_value_is_the_sign_test_where_both_apply(wins: int, losses: int, ties: int) -> None:
    counts = {d: n for d, n in ((1.0, wins), (-1.0, losses), (0.0, ties)) if n}
    assert chance_below(counts, -1.0, 0.0) == pytest.approx(sign_p(wins, losses), rel=1e-8)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=25), st.integers(0, 24), st.floats(0, 1))
def test_a_better_item_never_undoes_a_proof(differences: list[float], at: int, gain: float) -> None:
    better = list(differences)
    better[at % len(better)] = min(1.0, better[at % len(better)] + gain)
    assert paired_p(better) <= paired_p(differences) * (1 + 1e-8)


def test_a_half_win_more_is_no_less_evidence() -> None:
    assert paired_p([1.0] * 5 + [0.0] * 15) == 1 / 32
    assert paired_p([1.0] * 5 + [0.5] + [0.0] * 14) < 1 / 32


def test_an_early_stop_on_soft_scores_rejects_nothing_that_the_full_evaluation_accepts() -> None:
    incumbent: list[float | None] = [0.0] * 5 + [0.5] + [1.0] * 14
    candidate: list[float | None] = [1.0] * 5 + [0.5] + [1.0] * 14
    early, full = (decide(incumbent, candidate, EXACT, early=flag) for flag in (True, False))
    assert early.accepted and full.accepted
    assert full.evidence.p == 1 / 32


def test_missing_outcomes_never_help_a_candidate() -> None:
    """Eight won, ten lost: with those ten missing instead it was proven once."""
    incumbent: list[float | None] = [0.0] * 90 + [1.0] * 110
    candidate: list[float | None] = [1.0] * 8 + [0.0] * 82 + [1.0] * 100 + [None] * 10
    verdict = decide(incumbent, candidate, EXACT, early=False)
    assert not verdict.accepted
    assert verdict.evidence.p == sign_p(8, 10)
    few: list[float | None] = [1.0] * 12 + [0.0] * 78 + [1.0] * 109 + [None]
    assert decide(incumbent, few, EXACT, early=False).accepted


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_p_value_does_not_depend_on_the_order(differences: list[float], generator: random.Random) -> None:
    mixed = list(differences)
    generator.shuffle(mixed)
    assert math.isclose(paired_p(mixed), paired_p(differences), rel_tol=1e-9)


def test_p_values_of_a_candidate_without_effect_are_rarely_small() -> None:
    generator = random.Random(7)
    small = 0
    for _ in range(400):
        differences = [generator.choice([-0.6, -0.2, 0.0, 0.3, 0.5]) for _ in range(40)]  # mean 0
        small += paired_p(differences) <= 0.05
    assert small <= 400 * 0.05


def test_a_margin_asks_for_less_and_is_paid_by_items() -> None:
    assert paired_p([0.0] * 200, margin=0.05) < 0.001
    assert paired_p([0.0] * 5, margin=0.05) > 0.5
    assert paired_p([-0.1] * 200, margin=0.05) == 1.0
    with pytest.raises(ValueError, match="margin"):
        paired_p([0.0], margin=1.0)


@given(st.lists(st.tuples(MAYBE, MAYBE), min_size=1, max_size=24), st.sampled_from([0.01, 0.05, 0.2]))
def test_i9_early_and_full_looks_accept_the_same(pairs: list[tuple[float | None, float | None]], alpha: float) -> None:
    incumbent, candidate = [a for a, _ in pairs], [b for _, b in pairs]
    terms = replace(EXACT, alpha=alpha)
    early, full = (decide(incumbent, candidate, terms, early=flag) for flag in (True, False))
    assert early.accepted == full.accepted


@given(st.lists(st.tuples(BITS, BITS), min_size=1, max_size=40), st.sampled_from([0.005, 0.04]), st.integers(0, 4))
def test_counted_terms_hold_exactly_where_those_of_the_differences_do(
    pairs: list[tuple[float, float]], alpha: float, budget: int
) -> None:
    differences = [b - a for a, b in pairs]
    counts = sum(d > 0 for d in differences), sum(d < 0 for d in differences), len(pairs)
    for terms in (replace(EXACT, alpha=alpha), Terms(alpha, min_effect=0.1, max_losses=budget)):
        assert terms.holds_for(*counts) == terms.holds(differences)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=16), st.sampled_from([0.05, 0.3]))
def test_i9_holds_for_scores_between_zero_and_one(pairs: list[tuple[float, float]], alpha: float) -> None:
    terms = replace(EXACT, alpha=alpha)
    early, full = (decide([a for a, _ in pairs], [b for _, b in pairs], terms, early=flag) for flag in (True, False))
    assert early.accepted == full.accepted


@given(st.lists(st.tuples(BITS, BITS), min_size=1, max_size=40))
def test_futility_never_admits(pairs: list[tuple[float, float]]) -> None:
    incumbent, candidate = [a for a, _ in pairs], [b for _, b in pairs]
    hasty = decide(incumbent, candidate, replace(EXACT, futility=0.3), early=True)
    if hasty.accepted:
        assert decide(incumbent, candidate, EXACT, early=False).accepted


def test_a_copy_of_the_proven_skill_is_no_gain_and_costs_only_its_failures() -> None:
    incumbent: list[float | None] = [0.0] * 10 + [1.0] * 30
    verdict = decide(incumbent, incumbent, EXACT, early=True)
    assert (verdict.action, verdict.evidence.evaluated) == ("reject", 6)  # five wins are needed, four are left


def test_both_sides_stop_early() -> None:
    incumbent: list[float | None] = [0.0] * 60 + [1.0] * 20
    winner = decide(incumbent, [1.0] * 60 + [1.0] * 20, EXACT, early=True)
    assert winner.action == "accept_new_best"
    assert winner.evidence.early_stopped and winner.evidence.evaluated < 80
    loser = decide(incumbent, [0.0] * 60 + [1.0] * 20, EXACT, early=True)
    assert loser.action == "reject"
    assert loser.evidence.evaluated <= 60


def test_a_gain_that_is_not_proven_is_a_draft_and_no_rejection() -> None:
    verdict = decide([0.0] * 4 + [1.0] * 16, [1.0] * 3 + [0.0] + [1.0] * 16, EXACT, early=False)
    assert verdict.action == "draft"
    assert verdict.evidence.p == sign_p(3, 0)


def test_minimum_effect_and_regression_budget() -> None:
    incumbent: list[float | None] = [0.0] * 10 + [1.0] * 90
    better: list[float | None] = [1.0] * 10 + [1.0] * 89 + [0.0]
    assert decide(incumbent, better, EXACT, early=True).accepted
    assert not decide(incumbent, better, replace(EXACT, min_effect=0.1), early=True).accepted
    strict = decide(incumbent, better, replace(EXACT, max_losses=0), early=True)
    assert strict.action == "reject"
    assert "regression budget" in strict.reason
    assert strict.evidence.losses == ("i99",)


def test_too_many_missing_outcomes_decide_nothing() -> None:
    incumbent: list[float | None] = [0.0] * 20
    candidate: list[float | None] = [1.0] * 15 + [None] * 5
    verdict = decide(incumbent, candidate, EXACT, early=False)
    assert verdict.action == "undecided"
    assert verdict.evidence.missing == 5


def test_a_shorter_text_may_be_kept_for_its_length() -> None:
    same: list[float | None] = [1.0] * 100 + [0.0] * 100
    terms = replace(EXACT, margin=0.05)
    assert decide(same, same, terms, early=False).action == "accept_new_best"
    assert not decide(same, same, EXACT, early=False).accepted
    worse: list[float | None] = [1.0] * 85 + [0.0] * 115
    assert not decide(same, worse, terms, early=False).accepted


def test_the_budget_of_a_run_is_never_overdrawn_and_earned_back_by_a_proof() -> None:
    ledger = AlphaLedger.opened(0.05)
    spent = 0.0
    for _ in range(50):
        price = ledger.price(last=False)
        spent += price
        ledger = ledger.after(price, accepted=False)
    spent += ledger.price(last=True)
    assert spent <= 0.05 + 1e-12
    assert ledger.looks == 50
    assert ledger.after(ledger.price(last=True), accepted=False).left == 0.0
    assert ledger.after(ledger.price(last=False), accepted=True).left == 0.05
    with pytest.raises(ValueError, match="alpha"):
        AlphaLedger.opened(0.0)


def test_what_can_never_pass_is_known_before() -> None:
    assert least_items(0.05) == 5
    assert never_passes(4, 0.05)
    assert not never_passes(5, 0.05)


def test_a_look_is_taken_when_the_climb_makes_a_proof_likely() -> None:
    assert not proof_is_likely([], 200, alpha=0.0125)
    assert not proof_is_likely([(0.02, 0.03)], 200, alpha=0.0125)
    assert proof_is_likely([(0.2, 0.02)], 200, alpha=0.0125)
    assert proof_is_likely([(0.06, 0.02)] * 4, 200, alpha=0.0125)
    assert not proof_is_likely([(0.2, 0.02)], 12, alpha=0.0125)


@given(st.integers(0, 40), st.integers(1, 40))
def test_an_upper_rate_covers_what_was_seen(hits: int, tries: int) -> None:
    hits = min(hits, tries)
    rate = rate_at_most(hits, tries, beta=0.1)
    assert hits / tries <= rate <= 1.0
