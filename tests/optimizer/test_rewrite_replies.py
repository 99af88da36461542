"""Replies of the rewriting modes: what can be read is kept, nothing else gets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.change import PRIORITIES, SOURCE_TYPES, SUGGESTION_TYPES
from skillopt.core.errors import ConfigError, ReplyError
from skillopt.optimizer.modes import FULL_REWRITE, PATCH, REWRITE, update_mode
from skillopt.optimizer.schemas.rewrite import read_documents, read_rewrite, read_suggestions

SUGGESTION = {
    "type": "add_rule",
    "title": "Units",
    "motivation": "Three answers lacked them.",
    "instruction": "Add a rule: name the unit.",
    "priority_hint": "high",
    "support_count": 3,
    "source_type": "success",
}
DOCUMENT = {"title": "Tidied", "change_summary": ["one list"], "new_skill": "# Skill\n\n- Name the unit.\n"}


def test_a_suggestion_is_read_as_it_is_published():
    read = read_suggestions({"reasoning": "why", "revise_suggestions": [SUGGESTION]}, source_type="failure", support=8)
    assert read.reasoning == "why" and read.items[0].to_json() == SUGGESTION
    assert read.to_json() == {"reasoning": "why", "revise_suggestions": [SUGGESTION]}


def test_lenient_where_the_meaning_is_plain():
    loose = {"type": "Add Rule", "instruction": " Name the unit. ", "priority_hint": "urgent", "support_count": True}
    item = read_suggestions([loose], source_type="failure", support=4).items[0]
    assert (item.type, item.title, item.instruction) == ("add_rule", "Name the unit.", "Name the unit.")
    assert (item.priority_hint, item.support_count, item.source_type) == ("medium", 4, "failure")


def test_one_bad_suggestion_does_not_cost_the_others():
    bad = [{**SUGGESTION, "type": "shout"}, {**SUGGESTION, "instruction": None}, "text", {**SUGGESTION, "title": 3}]
    read = read_suggestions({"revise_suggestions": [*bad, SUGGESTION]}, source_type="failure", support=1)
    assert [i.title for i in read.items] == ["Add a rule: name the unit.", "Units"]
    assert [line.split(":")[0] for line in read.meta["invalid"]] == ["item 1", "item 2", "item 3"]
    assert "invalid" in read.to_json()
    with pytest.raises(ReplyError, match=r"no usable item; item 1: .type. must be one of add_rule"):
        read_suggestions({"revise_suggestions": bad[:2]}, source_type="failure", support=1)


def test_an_empty_list_is_an_answer_and_a_missing_one_is_not():
    assert read_suggestions({"revise_suggestions": []}, source_type="failure", support=1).items == ()
    assert read_documents({"skill_candidates": []}, source_type="success", support=1).items == ()
    for raw in ({"edits": []}, {"revise_suggestions": None}, 3, "x", None):
        with pytest.raises(ReplyError):
            read_suggestions(raw, source_type="failure", support=1)


def test_exactly_one_document_the_first_with_text():
    blank = {**DOCUMENT, "new_skill": "  \n"}
    read = read_documents({"skill_candidates": [blank, DOCUMENT, DOCUMENT]}, source_type="failure", support=5)
    assert [i.to_json() for i in read.items] == [{**DOCUMENT, "support_count": 5, "source_type": "failure"}]
    assert read.first is read.items[0] and read.meta["invalid"]
    with pytest.raises(ReplyError, match="whole document"):
        read_documents({"skill_candidates": [blank]}, source_type="failure", support=1)


def test_a_rewrite_needs_a_document():
    read = read_rewrite({"reasoning": "r", "change_summary": "one thing", "new_skill": "# S\n"})
    assert (read.text, read.change_summary, read.reasoning, read.lost) == ("# S\n", ("one thing",), "r", "")
    for raw in ({"new_skill": ""}, {"new_skill": None}, {"skill": "# S"}, {"new_skill": "half \ud800"}, []):
        with pytest.raises(ReplyError):
            read_rewrite(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from([*SUGGESTION_TYPES, "high"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*SUGGESTION, *DOCUMENT, "revise_suggestions", "skill_candidates"]), inner)
    ),
    max_leaves=24,
)


@given(JSON)
def test_readers_return_what_is_valid_or_say_what_is_wrong(raw):
    for reader in (read_suggestions, read_documents):
        try:
            read = reader(raw, source_type="failure", support=2)
        except ReplyError as error:
            assert error.message
            continue
        for item in read.items:
            assert item.support_count > 0 and item.source_type in SOURCE_TYPES
            if reader is read_suggestions:
                assert item.type in SUGGESTION_TYPES and item.priority_hint in PRIORITIES and item.instruction
            else:
                assert item.new_skill.strip()
        json.dumps(read.to_json(), ensure_ascii=False).encode()


def test_analyst_schemas_differ_by_mode_only_in_their_payload():
    for kind in ("failure", "success"):
        plain = PATCH.analyst_schema(kind)
        for mode in (REWRITE, FULL_REWRITE):
            schema = mode.analyst_schema(kind)
            assert list(schema["properties"]) == list(plain["properties"]) == schema["required"]
            assert mode.key in schema["properties"]["patch"]["properties"]
    assert (
        FULL_REWRITE.analyst_schema("failure")["properties"]["patch"]["properties"]["skill_candidates"]["maxItems"] == 1
    )


def test_items_of_a_group_come_from_that_group():
    reply = {"failure_summary": [{"failure_type": "x"}], "patch": {"revise_suggestions": [SUGGESTION]}}
    read = REWRITE.read_analyst(reply, source_type="failure", group_size=6)
    assert read.patch.items[0].source_type == "failure" and read.summary[0]["failure_type"] == "x"
    flat = FULL_REWRITE.read_analyst({"skill_candidates": [DOCUMENT]}, source_type="success", group_size=6)
    assert (flat.patch.items[0].source_type, flat.patch.items[0].support_count) == ("success", 6)
    with pytest.raises(ReplyError, match="revise_suggestions"):
        REWRITE.read_analyst({"batch_size": 3}, source_type="failure", group_size=6)


def test_an_unknown_mode_is_named():
    with pytest.raises(ConfigError, match=r"skill_update_mode='rewrit'.*full_rewrite_minibatch"):
        update_mode("rewrit")
