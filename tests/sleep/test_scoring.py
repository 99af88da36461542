"""S6, S23, S36: checks that say what they mean, judges that are read or missing, never 0."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import ReplyError
from skillopt.core.outcome import Missing, Scored
from skillopt.sleep.replies import first_object
from skillopt.sleep.scoring.checks import OPS, only_shape, passes, problem_of
from skillopt.sleep.scoring.judge import both, by_checks, by_reference, rubric_points, verdict
from skillopt.sleep.task import Check, Judge, TaskRecord


@pytest.mark.parametrize(
    ("op", "arg", "good", "bad"),
    [
        ("contains", "Breaking", "breaking: x", "added"), ("not_contains", "TODO", "done", "a todo"),
        ("regex", r"^Breaking", "Breaking", "Added\nBreaking"), ("max_chars", 3, "abc", "abcd"),
        ("min_chars", 3, "abc", "ab"), ("section_present", "Usage", "## Usage ##\nx", "usage of x"),
        ("section_present", "Usage", "**Usage**", "Usage"), ("section_present", "Usage", "Usage: run it", "- no"),
        ("section_contains", ["Usage", "run"], "# Usage\nRUN it", "# Other\nrun"),
        ("section_contains", ["Usage", "run"], "   ###### usage\nx run", "    # Usage\nrun"),
        ("no_refusal", None, "Done.", "**I'm sorry**, but I can't"), ("no_refusal", None, "x", "  "),
        ("no_refusal", None, "I cannot say enough. " + "x" * 700, "Unfortunately, I can not"),
    ],
)  # fmt: skip
def test_s6_ops(op: str, arg: object, good: str, bad: str) -> None:
    check = Check(op, arg)  # pyright: ignore
    assert problem_of(check) == "" and passes(check, good) and not passes(check, bad)


@pytest.mark.parametrize(
    ("op", "arg"),
    [("is_good", 1), ("regex", "("), ("regex", ""), ("contains", " "), ("max_chars", -1), ("max_chars", True),
     ("min_chars", "3"), ("section_contains", "x"), ("section_contains", ["x", ""]), ("tool_called", "../x"),
     ("tool_called", "/etc/x"), ("tool_called", "a b"), ("tool_called", "$(x)"), ("tool_called", "x" * 65)],
)  # fmt: skip
def test_s6_s23_a_check_that_cannot_work_is_an_error(op: str, arg: object) -> None:
    check = Check(op, arg)  # pyright: ignore
    assert problem_of(check)
    with pytest.raises(ValueError):
        passes(check, "x")


def test_s6_exact_does_not_find_4_in_14() -> None:
    assert by_reference("4", "It is 14.").hard == 0 and by_reference("4", "It is 4!").hard == 1
    assert by_reference("the main branch", "on main").soft == pytest.approx(1 / 3)


def test_a_regex_that_never_ends_is_missing() -> None:
    task = TaskRecord("c.1", "c", "/x", "i", reference_kind="rule", judge=Judge((Check("regex", r"(a+)+$"),)))
    assert isinstance(by_checks(task, "a" * 40 + "b"), Missing)


def test_only_shape() -> None:
    assert only_shape([Check("max_chars", 3)]) and not only_shape([Check("max_chars", 3), Check("contains", "x")])
    assert not only_shape([]) and "tool_called" not in OPS


@pytest.mark.parametrize(
    "text",
    ['As [1] says: {"pass": true}', '{"pass": true} and {braces} after', '```json\n{"pass": true}\n```',
     '<think>{"pass": false}</think>{"pass": true}', 'not {this} but {"pass": true}', '{"pass": true}{"pass": false}'],
)  # fmt: skip
def test_s36_the_first_object_counts(text: str) -> None:
    assert first_object(text) == {"pass": True}


@pytest.mark.parametrize("text", ["", "no json", '{"pass": tr', '{"points": [{"id": "p1"', "[1, 2]", '"{"'])
def test_s36_what_is_cut_or_absent_is_an_error(text: str) -> None:
    with pytest.raises(ReplyError):
        first_object(text)


@given(st.text(max_size=60))
def test_s36_any_text_is_an_object_or_an_error(text: str) -> None:
    with contextlib.suppress(ReplyError):
        assert isinstance(first_object(text), dict)


def points(*met: bool, passed: object) -> dict:
    return {"points": [{"id": f"p{n}", "met": m, "why": "w"} for n, m in enumerate(met, 1)], "pass": passed}


def test_s36_a_verdict_agrees_with_its_points_or_is_none() -> None:
    assert verdict(points(True, True, passed=True), ["a", "b"]) == Scored(1.0, 1.0, "")
    assert verdict(points(True, False, passed=False), ["a", "b"]) == Scored(0.0, 0.5, "w")
    for value in (points(True, passed=True), points(True, False, passed=True), points(True, True, passed="yes"),
                  {"pass": True}, {"points": [{"id": "p1", "met": 1}], "pass": True}, {}):  # fmt: skip
        with pytest.raises(ReplyError):
            verdict(value, ["a", "b"])


def test_a_rubric_with_checks_needs_both() -> None:
    assert both(Scored(1.0, 1.0), Scored(0.0, 0.5, "x")) == Scored(0.0, 0.75, "x")
    assert isinstance(both(Scored(1.0, 1.0), Missing("late")), Missing)
    assert rubric_points("1. a\n* b\n\n- c") == ["a", "b", "c"]
