"""What a reply says beside its edits: attempts, the line that an edit is a variant of, the line that it says again."""

from __future__ import annotations

import pytest

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonValue
from skillopt.optimizer.factorial.analyst import _proposal, schema
from skillopt.optimizer.factorial.pool import Pool, Proposal

EDIT = Edit("append", content="- Give dates in ISO form.")


@pytest.mark.parametrize(
    ("said", "expected"),
    [(1, 0), (3, 2), (0, None), (4, None), (None, None), (True, None), ("2", None), (-1, None)],
)
def test_a_number_that_names_no_line_is_left_out(said: JsonValue, expected: int | None) -> None:
    found = _proposal(EDIT, {"variant_of": said, "same_as": said}, ["a", "b"], 3)
    assert (found.variant_of, found.same_as) == (expected, expected)


@pytest.mark.parametrize(
    ("said", "expected"),
    [([2], ("b",)), ([2, 1, 2], ("b", "a")), ([0, 3], ("a", "b")), (None, ("a", "b")), (["x", 1], ("a",))],
)
def test_an_edit_is_for_the_attempts_it_names_else_for_all(said: JsonValue, expected: tuple[str, ...]) -> None:
    assert _proposal(EDIT, {"attempts": said}, ["a", "b"], 3).addressed == expected


def test_the_schema_asks_for_every_field() -> None:
    text = str(schema())
    assert all(name in text for name in ("attempts", "variant_of", "same_as"))


def test_what_the_optimizer_calls_the_same_is_one_factor_whatever_the_words() -> None:
    pool = Pool()
    first = pool.add(Proposal(EDIT, addressed=("a",)), 1)
    again = Proposal(Edit("append", content="- Always YYYY-MM-DD for days."), addressed=("b",), same_as=0)
    assert pool.add(again, 2) is first and first.support == 2 and first.own == {"a", "b"}
    assert pool.spare[0] == [again.edit], "its wording is kept, to be tried if the idea works"
