"""Semantic density: which words count, where, and that the bonus moves nothing but the gate's comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.regions import with_appendix, with_slow_update
from skillopt.core.skill import Skill
from skillopt.gate.density import LEADING_WORDS, bonus, density
from skillopt.gate.strict import StrictGate, Unit


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("— … !", 0.0),
        ("You MUST never guess", 2 / 4),
        ("Must, must; MUST!", 1.0),
        ("always-only mustard", 2 / 3),
        ("Prüfe ALWAYS", 1 / 3),  # words are runs of ASCII letters and digits: pr, fe, always
        ("x1 verify 2", 1 / 3),
    ],
)
def test_share_of_leading_words(text: str, share: float) -> None:
    assert density(Skill(text)) == pytest.approx(share)


def test_the_published_words() -> None:
    named = "MUST ALWAYS NEVER ONLY CRITICAL IMPORTANT RESOLVE PREFER ENSURE STRICT VERIFY"
    assert set(LEADING_WORDS) == {word.lower() for word in named.split()}
    assert density(Skill(named)) == 1.0


def test_other_words_replace_the_built_in_ones() -> None:
    assert density(Skill("must check twice"), ["Check", "twice"]) == pytest.approx(2 / 3)
    assert density(Skill("must check"), ()) == 0.0


def test_protected_text_does_not_count() -> None:
    header = "---\nname: must\ndescription: always never only\n---\n"
    skill = with_appendix(with_slow_update(Skill(f"{header}\nPlain rule.\n"), "NEVER ONLY"), ["You must verify"])
    assert density(skill) == 0.0
    assert density(Skill(f"{skill.text}\nmust")) == pytest.approx(1 / 3)


@given(st.text(), st.floats(0, 1))
def test_a_bonus_lies_between_nothing_and_its_weight(text: str, weight: float) -> None:
    assert 0.0 <= bonus(Skill(text), weight) <= weight


VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
HANDICAPS = st.sampled_from([0.0, 0.05, -0.05, 0.5, -0.5, 1.0, -1.0]) | st.floats(-1, 1)
PAIRS = st.lists(st.tuples(st.none() | VALUES, st.none() | VALUES), min_size=1, max_size=14)


def decided(pairs: list[tuple[float | None, float | None]], handicap: float, *, early: bool) -> StrictGate:
    units = [Unit(n, str(n), incumbent) for n, (incumbent, _) in enumerate(pairs)]
    gate = StrictGate(units, early=early, coverage_floor=0.5, best_score=None, handicap=handicap)
    for _, value in pairs:
        if gate.settled:
            break
        gate.observe(value)
    return gate


@given(PAIRS, HANDICAPS)
def test_an_early_stop_decides_as_the_full_evaluation(pairs, handicap) -> None:
    early, full = (decided(pairs, handicap, early=e).verdict() for e in (True, False))
    assert early.action == full.action
    assert early.score in (None, full.score)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=14), HANDICAPS)
def test_the_rule_is_the_sum_of_mean_and_bonus(pairs, handicap) -> None:
    verdict = decided(pairs, handicap, early=False).verdict()
    gain = sum(v - i for i, v in pairs) / len(pairs) + handicap
    if abs(gain) > 1e-9:
        assert verdict.accepted is (gain > 0)
    assert verdict.score == pytest.approx(sum(v for _, v in pairs) / len(pairs)), "the score is the measured mean"


@given(PAIRS, HANDICAPS, st.data())
def test_what_is_certainly_needed_is_needed_whatever_comes(pairs, handicap, data) -> None:
    units = [Unit(n, str(n), incumbent) for n, (incumbent, _) in enumerate(pairs)]
    gate = StrictGate(units, early=True, coverage_floor=0.5, best_score=None, handicap=handicap)
    promised = gate.needed()
    while not gate.settled:
        gate.observe(data.draw(st.none() | VALUES))
    assert gate.seen >= promised


def test_a_verdict_by_words_alone_says_so() -> None:
    same = [(1.0, 1.0), (0.0, 0.0), (1.0, 1.0)]
    kept = decided(same, 0.01, early=True).verdict()
    assert kept.accepted and "for its bonus for words alone" in kept.reason and "strictly" not in kept.reason
    better = decided([(0.0, 1.0)] * 3, 0.01, early=True).verdict()
    assert better.accepted and "bonus" not in better.reason
    lost = decided([(0.0, 1.0), (1.0, 1.0), (1.0, 1.0)], -0.5, early=False).verdict()
    assert lost.action == "reject" and "not strictly better" in lost.reason
