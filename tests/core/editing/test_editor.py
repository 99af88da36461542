"""The editor's contract: byte effects, one status per edit, protected bytes whatever the model wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import STATUSES, apply_patch
from skillopt.core.skill import APPENDIX, SLOW_UPDATE, Skill
from tests.examples import many

HEADER = "---\nname: demo\ndescription: d\n---\n"
SLOW = f"{SLOW_UPDATE[0]}\nkeep calm\n{SLOW_UPDATE[1]}"
NOTES = f"{APPENDIX[0]}\n## Execution Notes Appendix\n- check units\n{APPENDIX[1]}"
BODY = "# Demo\n\n- rule one\n- rule two\n"
FULL = f"{HEADER}{BODY}\n{SLOW}\n\n{NOTES}\n"


def run(text, *edits, **options):
    skill, report = apply_patch(Skill(text), Patch(edits=tuple(edits)), **options)
    return skill.text, [s.status for s in report.statuses], report


@pytest.mark.parametrize(
    ("text", "edit", "status", "expected"),
    [
        (BODY, Edit("append", content=" new \n"), "applied_append", "# Demo\n\n- rule one\n- rule two\n\nnew\n"),
        ("", Edit("append", content="new"), "applied_append", "\n\nnew\n"),
        ("a  \n\n\n", Edit("append", content="new"), "applied_append", "a\n\nnew\n"),
        (
            f"{BODY}\n\n{SLOW}\n",
            Edit("append", content="new"),
            "applied_append_before_protected_region",
            f"# Demo\n\n- rule one\n- rule two\n\nnew\n\n{SLOW}\n",
        ),
        (
            FULL,
            Edit("append", content="new"),
            "applied_append_before_protected_region",
            f"{HEADER}# Demo\n\n- rule one\n- rule two\n\nnew\n\n{SLOW}\n\n{NOTES}\n",
        ),
        (
            BODY,
            Edit("insert_after", target="rule one", content="between"),
            "applied_insert_after",
            "# Demo\n\n- rule one\n\nbetween\n- rule two\n",
        ),
        (
            BODY,
            Edit("insert_after", target="- rule one\n", content="between"),
            "applied_insert_after",
            "# Demo\n\n- rule one\n\nbetween\n- rule two\n",
        ),
        ("last line", Edit("insert_after", target="last", content="x"), "applied_insert_after", "last line\nx\n"),
        (BODY, Edit("replace", target="one", content=" 1 "), "applied_replace", "# Demo\n\n- rule 1\n- rule two\n"),
        (BODY, Edit("delete", target="- rule one\n"), "applied_delete", "# Demo\n\n- rule two\n"),
        (HEADER, Edit("append", content="new"), "applied_append", f"{HEADER}\nnew\n"),
        ("---\na: b\n---", Edit("append", content="new"), "applied_append", "---\na: b\n---\n\nnew\n"),
    ],
)
def test_bytes_of_each_operation(text, edit, status, expected):
    after, statuses, _ = run(text, edit)
    assert statuses == [status]
    assert after == expected


@pytest.mark.parametrize(
    ("text", "edit", "status"),
    [
        (BODY, Edit("insert_after", target="absent", content="x"), "skipped_insert_after_target_not_found"),
        (BODY, Edit("insert_after", target="", content="x"), "skipped_insert_after_target_not_found"),
        (BODY, Edit("insert_after", target=None, content="x"), "skipped_insert_after_target_not_found"),
        (BODY, Edit("replace", target="", content="x"), "skipped_replace_missing_target"),
        (BODY, Edit("delete", target=""), "skipped_delete_missing_target"),
        (BODY, Edit("delete", target=" \n"), "skipped_delete_missing_target"),
        (BODY, Edit("replace", target="absent", content="x"), "skipped_replace_target_not_found"),
        (BODY, Edit("delete", target="absent"), "skipped_delete_target_not_found"),
        (BODY, Edit("delete", target="rule"), "skipped_ambiguous_target"),
        ("aaa", Edit("delete", target="aa"), "skipped_ambiguous_target"),
        ("x  y\nx\ty", Edit("delete", target="x y"), "skipped_ambiguous_target"),
        (FULL, Edit("delete", target="keep calm"), "skipped_protected_region"),
        (FULL, Edit("delete", target="check units"), "skipped_protected_region"),
        (FULL, Edit("delete", target="name: demo"), "skipped_protected_region"),
        (FULL, Edit("insert_after", target="name: demo", content="x: y"), "skipped_protected_region"),
        (FULL, Edit("insert_after", target="keep calm", content="x"), "skipped_protected_region"),
        (FULL, Edit("replace", target=f"- rule two\n\n{SLOW_UPDATE[0]}\nkee", content="x"), "skipped_protected_region"),
        (FULL, Edit("replace", target=f"{SLOW}\n\n{NOTES}", content="x"), "skipped_protected_region"),
        (FULL, Edit("delete", target="---\n# Demo"), "skipped_protected_region"),
        (BODY, Edit("append", content=""), "skipped_empty_content"),
        (BODY, Edit("append"), "skipped_empty_content"),
        (BODY, Edit("append", content=f" {SLOW_UPDATE[0]} "), "skipped_empty_content"),
        (BODY, Edit("insert_after", target="rule one", content=" "), "skipped_empty_content"),
        (BODY, Edit("replace", target="rule one"), "skipped_empty_content"),
        (BODY, Edit("move", target="rule one", content="x"), "skipped_unknown_op"),
        (BODY, Edit("", content="x"), "skipped_unknown_op"),
        (BODY, Edit.from_json({"op": "append", "content": None}), "skipped_invalid_edit"),
        (BODY, Edit.from_json({"op": "replace", "target": None, "content": "x"}), "skipped_invalid_edit"),
        (BODY, Edit.from_json("append this"), "skipped_invalid_edit"),
        (BODY, Edit("append", content=5), "skipped_invalid_edit"),
    ],
)
def test_refused_edits_change_nothing(text, edit, status):
    after, statuses, report = run(text, edit)
    assert statuses == [status]
    assert after == text
    assert report.summary() == {"total": 1, "applied": 0, "skipped": 1, "errors": 0}


@pytest.mark.parametrize("target", ["", "absent"])
def test_fallback_append_only_when_asked(target):
    edit = Edit("insert_after", target=target, content="new")
    after, statuses, _ = run(BODY, edit, insert_after_fallback="append")
    assert statuses == ["applied_insert_after_fallback_append"]
    assert after == "# Demo\n\n- rule one\n- rule two\n\nnew\n"
    after, statuses, _ = run(FULL, edit, insert_after_fallback="append")
    assert statuses == ["applied_insert_after_fallback_before_protected_region"]
    assert after == FULL.replace(f"two\n\n{SLOW}", f"two\n\nnew\n\n{SLOW}")


@pytest.mark.parametrize("target", ["rule", "keep calm"])
def test_fallback_never_covers_ambiguous_or_protected_targets(target):
    after, statuses, _ = run(FULL, Edit("insert_after", target=target, content="x"), insert_after_fallback="append")
    assert statuses[0] in ("skipped_ambiguous_target", "skipped_protected_region")
    assert after == FULL


def test_a_later_body_occurrence_counts_when_the_first_lies_in_a_region():
    text = f"{SLOW}\n\nplease keep calm now\n"
    after, statuses, _ = run(text, Edit("replace", target="keep calm", content="hurry"))
    assert statuses == ["applied_replace"]
    assert after == f"{SLOW}\n\nplease hurry now\n"


@pytest.mark.parametrize("target", ["- rule  one ", " - rule one", "-\trule one", "rule\none"])
def test_white_space_is_forgiven_where_unique(target):
    after, statuses, report = run(BODY, Edit("replace", target=target, content="X"))
    assert statuses == ["applied_replace"]
    assert "X" in after and "whitespace" in report.statuses[0].note


def test_a_trailing_space_does_not_match_inside_a_longer_word():
    assert run("Use category names.", Edit("delete", target="Use cat "))[1] == ["skipped_delete_target_not_found"]


def test_exact_match_wins_over_normalised_ones():
    after, statuses, report = run("a b\na  b\n", Edit("replace", target="a  b", content="X"))
    assert (after, statuses, report.statuses[0].note) == ("a b\nX\n", ["applied_replace"], "")


def test_unmatched_edits_name_the_nearest_line():
    note = run(BODY, Edit("delete", target="- rule won"))[2].statuses[0].note
    assert "line 3" in note and "- rule one" in note


def test_edits_see_the_text_that_earlier_ones_made():
    after, statuses, report = run(
        BODY,
        Edit("append", content="- rule three"),
        Edit("delete", target="absent"),
        Edit("replace", target="three", content="3"),
    )
    assert after.endswith("- rule 3\n")
    assert statuses == ["applied_append", "skipped_delete_target_not_found", "applied_replace"]
    assert report.summary() == {"total": 3, "applied": 2, "skipped": 1, "errors": 0}


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("foo\n", Edit("replace", target="foo", content="---\nname: evil\n---")),
        ("---\nnot a header\n", Edit("append", content="---\nrest")),
        ("<!-- SLOW_XUPDATE_START -->\nbody", Edit("delete", target="X")),
        ("x---\nname: a\n---\nbody", Edit("delete", target="x")),
        (f"text\n{SLOW_UPDATE[0]}\nopen end", Edit("append", content="x")),
    ],
)
def test_an_edit_that_would_make_or_change_protected_text_is_undone(text, edit):
    after, statuses, _ = run(text, edit)
    if statuses == ["applied_append_before_protected_region"]:
        assert after.endswith(text[text.index(SLOW_UPDATE[0]) :])
    else:
        assert (after, statuses) == (text, ["skipped_protected_region"])


def test_markers_never_enter_through_content():
    tricky = f"<!-- SLOW_{APPENDIX[0]}UPDATE_START -->rule"
    after, statuses, _ = run(BODY, Edit("append", content=tricky))
    assert statuses == ["applied_append"]
    assert Skill(after).regions == () and after.endswith("rule\n")


def test_crlf_documents_keep_their_bytes():
    text = FULL.replace("\n", "\r\n")
    after, statuses, _ = run(
        text,
        Edit("insert_after", target="- rule one\n- rule two", content="three"),
        Edit("replace", target="rule one", content="rule 1"),
        Edit("append", content="end"),
    )
    assert statuses == ["applied_insert_after", "applied_replace", "applied_append_before_protected_region"]
    before, new = Skill(text), Skill(after)
    assert [after[s.start : s.end] for s in new.protected] == [text[s.start : s.end] for s in before.protected]
    assert "- rule 1\r\n- rule two\r\n\nthree" in after
    assert after.count("\r\n") == text.count("\r\n") - 1  # the blank line before the region is the appended rule's now


def test_crlf_header_alone_survives_an_append():
    header = HEADER.replace("\n", "\r\n")
    assert run(header, Edit("append", content="x"))[0] == f"{header}\nx\n"


pieces = st.sampled_from(
    [
        *SLOW_UPDATE,
        *APPENDIX,
        "---\n",
        "---\r\n",
        "name: x\n",
        "- rule\n",
        "rule",
        " ",
        "\n",
        "\r\n",
        "\t",
        "a",
        "<!-- SLOW_",
    ]
)
texts = st.one_of(
    st.lists(pieces, max_size=14).map("".join),
    st.builds(
        lambda b, r: f"{HEADER}{b}\n\n{r}\n", st.text(max_size=40), st.sampled_from([SLOW, NOTES, f"{SLOW}\n\n{NOTES}"])
    ),
    st.text(max_size=40),
)
strings = st.one_of(st.none(), st.lists(pieces, max_size=4).map("".join), st.text(max_size=8))
edits = st.builds(
    Edit,
    op=st.sampled_from(["append", "insert_after", "replace", "delete", "delete", "move"]),
    target=strings,
    content=strings,
)


@settings(max_examples=many(600))
@given(text=texts, proposed=st.lists(edits, max_size=5), fallback=st.sampled_from(["skip", "append"]), data=st.data())
def test_protected_bytes_survive_whatever_is_proposed(text, proposed, fallback, data):
    if text and data.draw(st.booleans()):  # anchors that really stand in the text
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        proposed = [*proposed, Edit("replace", target=text[start:end], content=data.draw(strings))]
    skill = Skill(text)
    for edit in proposed:
        after, report = apply_patch(skill, Patch(edits=(edit,)), insert_after_fallback=fallback)
        status = report.statuses[0]
        assert status.status in STATUSES and status.status != "error"
        assert status.applied or after.text == skill.text
        assert [after.text[s.start : s.end] for s in after.regions] == [
            skill.text[s.start : s.end] for s in skill.regions
        ]
        old, new = skill.header, after.header
        assert (old is None) == (new is None)
        if old and new:
            kept = skill.text[: old.end]
            assert after.text[: new.end] in (kept, kept + "\n")
            assert (
                kept.endswith("\n") == (after.text[: new.end] == kept) or after.text == skill.text or new.end == old.end
            )
        skill = after
    whole, report = apply_patch(Skill(text), Patch(edits=tuple(proposed)), insert_after_fallback=fallback)
    assert len(report.statuses) == len(proposed) and whole == skill


@pytest.mark.parametrize("field", ["target", "content"])
def test_half_a_surrogate_pair_is_refused_because_no_utf8_file_can_hold_it(field):
    edit = Edit("replace", **{"target": "- rule one", "content": "- new", field: "bad \ud800"})
    text, statuses, _ = run(BODY, edit, Edit("append", content="good"))
    assert statuses == ["skipped_invalid_edit", "applied_append"]
    text.encode("utf-8")


def test_a_header_after_a_byte_order_mark_is_a_header():
    text, statuses, _ = run("\ufeff" + FULL, Edit("replace", target="name: demo", content="name: other"))
    assert (text, statuses) == ("\ufeff" + FULL, ["skipped_protected_region"])
    assert run("\ufeff" + HEADER, Edit("append", content="x"))[0].startswith("\ufeff" + HEADER)


def test_an_unclosed_header_with_crlf_is_read_at_once():
    """A pattern that reads CRLF in two ways needs 2**n steps here: the test would not end."""
    assert Skill("---\r\n" + "line\r\n" * 5_000).header is None
    assert Skill("---\r\nname: x\r\n---\r\nbody\r\n").header is not None


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ({"op": "delete", "target": "- rule one", "content": None}, "applied_delete"),
        ({"op": "append", "target": None, "content": "x"}, "applied_append"),
        ({"op": "nuke", "target": None, "content": None}, "skipped_unknown_op"),
        ({"op": "delete", "target": None, "content": None}, "skipped_invalid_edit"),
        ({"op": "replace", "target": "- rule one", "content": None}, "skipped_invalid_edit"),
        ({"op": "insert_after", "target": None, "content": "x"}, "skipped_invalid_edit"),
        ({"op": None, "target": None, "content": None}, "skipped_invalid_edit"),
        ({"op": "delete", "target": "- rule one", "content": 5}, "skipped_invalid_edit"),
    ],
)
def test_null_in_a_field_that_the_operation_does_not_use_is_no_violation(raw, status):
    """Strict JSON schemas require every field: a model that deletes must write `content: null`."""
    assert run(BODY, Edit.from_json(raw))[1] == [status]
