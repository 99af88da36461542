"""Semantic density: which words count, where, and that the bonus moves nothing but the gate's comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.regions import with_appendix, with_slow_update
from skillopt.core.skill import Skill
from skillopt.gate.density import LEADING_WORDS, bonus, density


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
