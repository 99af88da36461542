"""Lines keep the origin that put them there, whatever random edits do around them."""

from __future__ import annotations

import re
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.editing.origins import Line, carry, first_lines, lines_of, text_of, undo
from skillopt.core.skill import MARKERS, Skill
from tests.examples import many

HEADER = "---\nname: x\ndescription: d\n---\n"
REGION = "\n<!-- SLOW_UPDATE_START -->\nguidance\n<!-- SLOW_UPDATE_END -->\n"


def always(name):
    return lambda at, line: name


@st.composite
def documents(draw):
    """A skill of distinct lines, with header, region and line ends of either kind."""
    words = draw(st.lists(st.sampled_from(["alpha", "βeta", "", "- gamma —", "## δ"]), min_size=0, max_size=8))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    body = "".join(f"{word} line{n}{end}" if word else end for n, word in enumerate(words))
    return draw(st.sampled_from(["", HEADER])) + body + draw(st.sampled_from(["", REGION]))


@st.composite
def histories(draw):
    """A document, and edits one after the other: each brings lines that say its own number."""
    text = first = draw(documents())
    edits: list[Edit] = []
    for n in range(draw(st.integers(1, 8))):
        body = [line.strip("\r") for line in lines_of(text) if line.strip() and line not in MARKERS]
        op = draw(
            st.sampled_from(["append", "insert_after", "replace", "replace_part", "delete"] if body else ["append"])
        )
        content = "\n".join(f"- brought by e{n}, part {k}" for k in range(draw(st.integers(1, 3))))
        target = draw(st.sampled_from(body)) if body else None
        if op == "replace_part" and target:
            target, content, op = target.split()[-1], f"e{n}", "replace"
        edit = Edit(op, target if op != "append" else None, content if op != "delete" else None)
        changed, report = apply_patch(Skill(text), Patch((edit,)))
        if report.statuses[0].applied:
            edits.append(edit)
            text = changed.text
        else:
            edits.append(Edit("append", None, f"- brought by e{n}, part 0"))
            text = apply_patch(Skill(text), Patch((edits[-1],)))[0].text
    return first, edits


def replay(first, edits):
    """All texts with their lines, and the hunks of each edit."""
    ids, skill = count(), Skill(first)
    lines = first_lines(first, "initial", ids)
    out, hunks = [(skill, lines)], []
    for n, edit in enumerate(edits):
        skill = apply_patch(skill, Patch((edit,)))[0]
        lines, made = carry(lines, skill.text, always(f"e{n}"), ids)
        out.append((skill, lines))
        hunks.append(made)
    return out, hunks


@settings(max_examples=many(300))
@given(histories())
def test_each_line_belongs_to_the_edit_that_brought_its_words(history):
    first, edits = history
    initial = {line.rstrip() for line in lines_of(first)}
    for skill, lines in replay(first, edits)[0]:
        assert [line.text for line in lines] == lines_of(skill.text)
        assert len({line.id for line in lines}) == len(lines)
        for line in lines:
            named = [int(n) for n in re.findall(r"\be(\d+)\b", line.text)]
            if named:
                assert line.origin == f"e{max(named)}", line
            elif line.origin == "initial":
                assert line.text.rstrip() in initial


@settings(max_examples=many(300))
@given(histories())
def test_undoing_the_last_edit_gives_the_text_before_it(history):
    first, edits = history
    out, hunks = replay(first, edits)
    (before, _), (after, lines) = out[-2], out[-1]
    undone = undo(lines, hunks[-1], f"e{len(edits) - 1}", keep=MARKERS)
    assert words(text_of(undone, like=after.text)) == words(before.text)


@settings(max_examples=many(200))
@given(histories(), st.data())
def test_undoing_any_edit_takes_its_lines_and_nobody_elses(history, data):
    first, edits = history
    out, hunks = replay(first, edits)
    lines = out[-1][1]
    n = data.draw(st.integers(0, len(edits) - 1))
    undone = undo(lines, hunks[n], f"e{n}", keep=MARKERS)
    assert not [line for line in undone if line.origin == f"e{n}" and line.text.strip()]
    others = [line.id for line in lines if line.origin != f"e{n}"]
    assert [line.id for line in undone if line.id in set(others)] == others


def words(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def carried(before: str, after: str) -> list[tuple[str, str]]:
    lines, _ = carry(first_lines(before, "old", count()), after, always("new"), count(1000))
    return [(line.text, line.origin) for line in lines]


def test_moved_and_shifted_lines_keep_their_origin():
    assert carried("a\nb\nc\n", "x\na\nb\nc\n") == [("x", "new"), ("a", "old"), ("b", "old"), ("c", "old")]
    assert carried("a\nb\nc\nd\n", "d\na\nb\nc\n")[0] == ("d", "old")
    assert carried("a\nx\nb\n", "b\nx\na\n") == [("b", "old"), ("x", "old"), ("a", "old")]


def test_white_space_at_the_end_and_the_last_line_end_change_no_origin():
    assert carried("a  \nb", "a\nb\n") == [("a", "old"), ("b", "old")]
    assert carried("a\r\nb\r\n", "a\nb\n") == [("a", "old"), ("b", "old")]


def test_a_second_equal_line_is_the_new_one():
    assert carried("a\nb\n", "a\nb\na\n") == [("a", "old"), ("b", "old"), ("a", "new")]


def test_changed_words_remember_whose_they_were():
    ids = count()
    one = first_lines("answer in upper case\nkeep\n", "initial", ids)
    two, _ = carry(one, "answer in lower case\nkeep\n", always("e1"), ids)
    three, _ = carry(two, "answer in lower case, always\nkeep\n", always("e2"), ids)
    assert three[0] == Line("answer in lower case, always", "e2", three[0].id, ("e1", "initial"))
    assert three[1].earlier == ()


def test_a_line_put_back_by_a_later_part_of_one_change_has_moved():
    ids = count()
    one = first_lines("a\nrule\nb\n", "initial", ids)
    two, hunks = carry(one, "a\nb\n", always("e1"), ids)
    gone = [line for hunk in hunks for line in hunk.removed]
    three, _ = carry(two, "a\nb\nrule\n", always("e2"), ids, gone=gone)
    assert [line.origin for line in three] == ["initial", "initial", "initial"]


def test_an_empty_text_has_no_lines_and_stays_empty():
    assert lines_of("") == [] and lines_of("\n") == [""] and lines_of("a") == ["a"]
    assert text_of((), like="a\n") == ""
    for text in ("", "\n", "a", "a\n", "\n\n", "a\n\n"):
        lines = first_lines(text, "x", count())
        assert text_of(lines, like=text) == text
