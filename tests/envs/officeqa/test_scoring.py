"""OfficeQA's golden tables: normal forms, answers taken from replies, F1."""

from __future__ import annotations

import pytest

from skillopt.envs.officeqa.rollout import f1, first_tagged, normal, score


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("$1,234.5 Million", "1234.5"),
        ("(12.0) billion dollars", "12.0"),
        ("Nominal 507 millions", "507"),
        ("-3.2%", "-3.2%"),
        ("[1, 2]", "1 2"),
        ("March 1977", "march 1977"),
        ("million-dollar", "-"),
        ("", ""),
    ],
)
def test_normal_forms(text: str, form: str) -> None:
    assert normal(text) == form


@pytest.mark.parametrize(
    ("reply", "hard", "soft"),
    [
        ("<answer>$507 million</answer>", 1.0, 1.0),
        ("<answer>507.0</answer>", 0.0, 0.0),
        ("<answer>507</answer> or <answer>8</answer>", 1.0, 1.0),  # the first pair counts
        ("so:\n507", 1.0, 1.0),
        ("", 0.0, 0.0),
    ],
)
def test_scores(reply: str, hard: float, soft: float) -> None:
    found = score(reply, "507", protocol="retrieval", needs_tag=False)
    assert (found.hard, found.soft, found.detail) == (hard, soft, {"protocol": "retrieval"})


def test_f1_of_tokens() -> None:
    assert f1("1234 million in 1944", "1,234") == 0.5
    assert f1("million", "dollars") == 1.0  # both empty
    assert f1("", "5") == 0.0


def test_a_reply_without_call_and_tags_is_no_answer_where_there_are_tools() -> None:
    found = score("It is 507", "507", protocol="retrieval", needs_tag=True)
    assert (found.hard, found.fail_reason.split(":")[0]) == (0.0, "no-answer")


def test_the_first_pair_of_tags() -> None:
    assert first_tagged("a <answer>x <answer> y</answer> z</answer>") == "x <answer> y"
    assert first_tagged("</answer> <ANSWER>\n1\n</Answer>") == "1"
    assert first_tagged("<answer> open") is None
