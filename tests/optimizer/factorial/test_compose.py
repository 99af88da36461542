"""Subsets of edits as bytes: any order, the empty subset, protected text, one place, needs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit
from skillopt.core.skill import APPENDIX, SLOW_UPDATE, Skill
from skillopt.optimizer.factorial.compose import compose, relations, unusable
from tests.examples import many

BASE = Skill(
    "---\nname: phones\n---\n# Phones\n\nGive the number.\n\n- Keep the country code.\n- Drop spaces.\n\n"
    f"{SLOW_UPDATE[0]}\nGive the number.\n{SLOW_UPDATE[1]}\n\n{APPENDIX[0]}\n- a note\n{APPENDIX[1]}\n"
)
LINES = ["Give the number.", "- Keep the country code.", "- Drop spaces.", "# Phones", "name: phones", "a note", "x"]

texts = st.one_of(
    st.sampled_from([*LINES, *SLOW_UPDATE, "- Use E.164.\n- Drop spaces.", "<!-- SLOW_", "UPDATE_START -->", "é\r\nü"]),
    st.text(max_size=12),
)
edit_values = st.builds(
    Edit, op=st.sampled_from(["append", "insert_after", "replace", "delete", "other"]), target=texts, content=texts
)
pools = st.lists(edit_values, max_size=7)


@settings(max_examples=many(300))
@given(pools, st.randoms(use_true_random=False))
def test_any_order_of_a_subset_gives_the_same_bytes(pool: list[Edit], luck) -> None:
    edits = dict(enumerate(pool))
    subset = [n for n in edits if luck.random() < 0.7]
    expected = compose(BASE, edits, subset)
    luck.shuffle(subset)
    shuffled = {n: edits[n] for n in subset}
    again = compose(BASE, shuffled, subset)
    assert again.skill.text.encode("utf-8", "surrogatepass") == expected.skill.text.encode("utf-8", "surrogatepass")
    assert dict(again.absent) == dict(expected.absent)


@settings(max_examples=many(300))
@given(pools)
def test_header_and_protected_regions_keep_their_bytes(pool: list[Edit]) -> None:
    composed = compose(BASE, dict(enumerate(pool)), range(len(pool))).skill
    assert composed.text[: BASE.header.end] == BASE.text[: BASE.header.end]
    regions = [BASE.text[s.start : s.end] for s in BASE.regions]
    assert [composed.text[s.start : s.end] for s in composed.regions] == regions


@settings(max_examples=many(200))
@given(st.text(max_size=200), pools)
def test_the_empty_subset_is_the_base(text: str, pool: list[Edit]) -> None:
    assert compose(Skill(text), dict(enumerate(pool)), ()).skill.text == text


@settings(max_examples=many(200))
@given(pools)
def test_one_edit_alone_is_what_the_editor_makes_of_it(pool: list[Edit]) -> None:
    from skillopt.core.editing.edit import Patch
    from skillopt.core.editing.editor import apply_patch

    for n, edit in enumerate(pool):
        alone, report = apply_patch(BASE, Patch((edit,)))
        composed = compose(BASE, {n: edit}, [n])
        assert composed.skill == alone
        assert (n in composed.absent) == (not report.statuses[0].applied)


def test_an_edit_does_not_double_the_anchor_of_another() -> None:
    edits = {
        0: Edit("insert_after", target="# Phones", content="- Drop spaces."),
        1: Edit("replace", target="- Drop spaces.", content="- Drop all white space."),
    }
    composed = compose(BASE, edits, [0, 1])
    assert not composed.absent
    assert "- Drop spaces." in composed.skill.text and "- Drop all white space." in composed.skill.text


def test_edits_on_one_place_are_alternatives_and_the_first_one_counts() -> None:
    edits = [
        Edit("replace", target="- Drop spaces.", content="- One."),
        Edit("delete", target="Drop spaces"),
        Edit("replace", target="- Keep the country code.", content="- Two."),
    ]
    assert relations(BASE, edits) == ({(0, 1)}, set())
    composed = compose(BASE, dict(enumerate(edits)), [2, 1, 0])
    assert composed.absent == {1: "changes the same place as edit 0"}
    assert "- One." in composed.skill.text and "- Two." in composed.skill.text


def test_an_edit_of_another_edits_line_needs_that_one() -> None:
    edits = [
        Edit("append", content="- Use E.164 always."),
        Edit("replace", target="E.164 always", content="E.164 unless told"),
    ]
    assert relations(BASE, edits) == (set(), {(1, 0)})
    assert "E.164 unless told" in compose(BASE, dict(enumerate(edits)), [0, 1]).skill.text
    alone = compose(BASE, dict(enumerate(edits)), [1])
    assert alone.skill == BASE and 1 in alone.absent


@pytest.mark.parametrize(
    ("edit", "usable"),
    [
        (Edit("append", content="- new"), True),
        (Edit("delete", target="a note"), False),
        (Edit("replace", target="nowhere", content="x"), False),
        (Edit("replace", target="- Drop spaces.", content="- Drop spaces."), False),
        (Edit("append", content="  "), False),
    ],
)
def test_what_can_never_be_applied_has_a_reason(edit: Edit, usable: bool) -> None:
    assert (unusable(BASE, edit) == "") == usable
