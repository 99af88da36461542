"""Parsing of model replies: faults B.1 to B.8, and properties."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import ReplyError
from skillopt.model.replies import ask_json, parse_reply
from skillopt.model.types import ChatReply, Usage

from .model_support import ask

EDIT = {"op": "append", "content": "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here is my evaluation:\n{"score": 1.0}\nDone.', {"score": 1.0}),
        ('<think>{"edits":[]}</think>{"edits":[{"op":"append"}]}', {"edits": [{"op": "append"}]}),
        ('<THINKING>maybe {x}</THINKING>\n{"a": 1}', {"a": 1}),
        ('so {"edits": []} was wrong</think>{"a": 1}', {"a": 1}),
        (json.dumps([EDIT, EDIT]), [EDIT, EDIT]),
        ("[]", []),
        ("```\n[0, 2]\n```", [0, 2]),
        ("<think>1 or 2</think>[2, 1]", [2, 1]),
        ('{"score": 1.0 // ok\n}', {"score": 1.0}),
        ('{"a": [1, 2,], /* c */ "b": "x, }",}', {"a": [1, 2], "b": "x, }"}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('{"url": "https://a.b//c"}', {"url": "https://a.b//c"}),
        ('The set {x} and [1] show \\frac{1}{2}, so {"a": 1}', {"a": 1}),
        ('{"a": "never write <think> or </think>"}', {"a": "never write <think> or </think>"}),
        ('{"a": {"b": {"c": "}"}}}', {"a": {"b": {"c": "}"}}}),
    ],
)
def test_one_value_is_found(text, value):
    assert parse_reply(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON"),
        ("I cannot do that.", "no JSON"),
        ('{"a": 1} or {"a": 2}', "2 JSON values"),
        ("<think>first I should", "inside its reasoning"),
        ('<think>a</think><think>b {"a": 1}', "inside its reasoning"),
        ('{"a": 1', "not valid"),
        ('{"a": {"b": 1}, "c": ', "not valid"),
        ('{"outer": oops, "inner": {"a": 1}}', "not valid"),
        ("{'a': 1}", "not valid"),
        ('{edits: [{"op": "append"}]}', "not valid"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('[{"op": "append"}, {"op": ', "not valid"),
        ("[" * 100_000, "no JSON"),
        ('{"a":' * 100_000, "deeply"),
    ],
)
def test_what_is_not_one_value_is_an_error(text, says):
    with pytest.raises(ReplyError, match=says):
        parse_reply(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
objects = st.dictionaries(st.text(max_size=8), values, max_size=5)
prose = st.text(st.characters(blacklist_characters="{}[]<>/", blacklist_categories=("Cs",)), max_size=40)


@given(objects, prose, prose, st.booleans(), st.booleans())
def test_any_object_survives_prose_fences_and_thinking(value, before, after, fenced, thinking):
    text = json.dumps(value, ensure_ascii=False, indent=1 if fenced else None)
    text = f"```json\n{text}\n```" if fenced else text
    thought = f"<think>{before} {json.dumps(value)}</think>" if thinking else ""
    assert parse_reply(f"{thought}{before}\n{text}\n{after}") == value


@given(st.lists(objects, min_size=1, max_size=4))
def test_an_array_of_objects_keeps_every_item(edits):
    assert parse_reply(json.dumps(edits)) == edits


@given(objects, objects)
def test_two_objects_are_never_chosen_from(a, b):
    with pytest.raises(ReplyError):
        parse_reply(f"{json.dumps(a)}\n{json.dumps(b)}")


@given(objects.filter(bool), st.data())
def test_a_cut_object_is_never_adopted(value, data):
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(ReplyError):
        parse_reply(cut)


@given(st.text(max_size=200))
def test_any_text_gives_a_value_or_a_reply_error(text):
    try:
        assert isinstance(parse_reply(text), (dict, list))
    except ReplyError as error:
        assert "\n" not in error.message


class Model:
    """Replies in turn; keeps what was asked."""

    model = "m"

    def __init__(self, *replies):
        self.replies = [r if isinstance(r, ChatReply) else ChatReply(r, usage=Usage(1, 1)) for r in replies]
        self.asked = []

    async def chat(self, request):
        self.asked.append(request)
        return self.replies[len(self.asked) - 1]


def needs_edits(raw):
    if not isinstance(raw, dict) or "edits" not in raw:
        raise ReplyError('the reply has no "edits"')
    return raw["edits"]


async def test_prose_then_json_costs_one_reask_that_shows_the_error():
    model = Model("I would append a rule.", '{"edits": []}')
    asked = await ask_json(model, ask(), needs_edits)
    assert (asked.value, asked.reasks, asked.dropped, len(asked.usages)) == ([], 1, "", 2)
    *_, reply, question = model.asked[1].messages
    assert reply.content == "I would append a rule." and "no JSON object" in question.content
    assert model.asked[1].messages[:2] == model.asked[0].messages


async def test_the_validators_words_are_shown_and_a_second_failure_drops():
    model = Model('{"a": 1}', "")
    asked = await ask_json(model, ask(), needs_edits)
    assert asked.value is None and asked.reasks == 1 and "no JSON" in asked.dropped
    assert 'no "edits"' in model.asked[1].messages[-1].content


@pytest.mark.parametrize(("finish", "why"), [("length", "truncated"), ("refusal", "refused")])
async def test_cut_and_refused_replies_are_dropped_without_a_reask(finish, why):
    model = Model(ChatReply('{"edits": []}', finish))
    asked = await ask_json(model, ask(), needs_edits)
    assert (asked.value, asked.dropped, len(model.asked)) == (None, why, 1)


@pytest.mark.parametrize("number", ["1e999", "-1e400", '[1, {"b": 9E+9999}]'])
def test_a_number_beyond_all_numbers_is_an_error_that_is_asked_again(number: str) -> None:
    with pytest.raises(ReplyError, match="is larger than any number"):
        parse_reply(f'{{"edits": [], "count": {number}}}')
    assert parse_reply('{"count": 1e308}') == {"count": 1e308}
