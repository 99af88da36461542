"""Computed facts for small optimizers: they repeat, they are true, and they name no answer."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from skillopt.optimizer.answer_facts import observations


def facts_of(pairs: list[tuple[str, str]]) -> list[str]:
    return observations([("", a, e) for a, e in pairs])


PHONES = [("+60 3-2382/3333", "+60323823333"), ("48 123 279200", "+48123279200"), ("0312-116-994", "+81312116994")]


def test_character_facts_say_what_is_too_much_and_what_is_missing():
    facts = "\n".join(facts_of(PHONES))
    assert 'Every expected answer consists only of: "+" (plus sign), digits.' in facts
    assert "spaces in 2 of 3" in facts and '"-" (hyphen-minus) in 2 of 3' in facts
    assert 'begins with "+" (plus sign); 2 of the given answers do not' in facts
    assert not any(e in facts for _, e in PHONES)


def test_single_differences_are_placed():
    assert "the case of letters" in "\n".join(facts_of([("paris", "Paris"), ("ROME", "Rome")]))
    facts = "\n".join(facts_of([("Paris, France", "Paris"), ("Rome, Italy", "Rome")]))
    assert "something too much at the end" in facts and "2 of 2 given answers contain the expected one" in facts


def test_a_short_piece_that_repeats_is_named():
    facts = "\n".join(facts_of([("+4407911", "+447911"), ("+9108123", "+918123"), ("+1555", "+2555")]))
    assert "In 2 of 3 cases the only difference is something too much in the middle." in facts
    assert 'In 2 of 3 cases it is "0": something too much in the middle.' in facts


def test_digits_are_traced_to_the_input():
    facts = "\n".join(
        observations(
            [
                ("0207 183 8750 (UK)", "0207 183 8750", "+442071838750"),
                ("089 1234 (Germany)", "089 1234", "+49891234"),
                ("612 345 678, Spain", "612345678", "+34612345678"),
                ("912-345-678, Portugal", "912345678", "+351912345678"),
            ]
        )
    )
    assert "In 2 of 4 cases the expected answer ends with all digits of the input." in facts
    assert 'In 2 of 4 cases it ends with the digits of the input without the first one, which is "0" in each' in facts
    assert "In 4 of 4 cases it begins with digits that do not come from the digits of the input." in facts


def test_long_answers_are_compared_by_words():
    facts = facts_of([("word " * 200, "a short expected sentence " * 5), ("word " * 200, "another one here " * 6)])
    assert facts == ["2 of 2 given answers are more than twice as long as expected."]


def test_one_answer_for_everything_is_noticed():
    facts = "\n".join(facts_of([("LOC", "NUM"), ("LOC", "HUM"), ("LOC", "ENT"), ("LOC", "NUM")]))
    assert "Most of the given answers are the same one" in facts


def test_facts_are_the_same_in_every_process():
    script = (
        "from skillopt.optimizer.answer_facts import observations as o\n"
        "print(o([('', 'Ab-1 /x.', 'y'), ('', 'Cd-2 /z.', 'w'), ('', 'Ef-3 /v.', 'u')]))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2", "3", "4")
    }
    assert len(told) == 1


@given(st.lists(st.tuples(st.text(max_size=120), st.text(max_size=120)), max_size=8))
def test_never_raises_and_says_nothing_of_a_single_case(pairs):
    facts = facts_of(pairs)
    assert all(isinstance(f, str) for f in facts)
    assert facts_of(pairs[:1]) == []
