"""Whatever a server sends with a 200, reading it gives a reply or says that it is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.errors import ModelError, TransientModelError
from skillopt.model.providers.wire.messages import read_message
from skillopt.model.providers.wire.reply import read_reply, status_error
from skillopt.model.providers.wire.responses import read_response
from skillopt.model.types import ChatReply

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["choices", "message", "content", "finish_reason", "tool_calls", "function", "name", "arguments", "id",
         "refusal", "usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens",
         "output", "type", "text", "status", "incomplete_details", "reason", "error", "stop_reason", "input",
         "input_tokens", "reasoning_content", "output_text", "tool_use", "function_call", "completed",
         "incomplete", "failed"]  # fmt: skip
LIKELY = st.recursive(
    JSON | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=40,
)


@pytest.mark.parametrize("read", [read_reply, read_response, read_message])
@given(body=LIKELY, around=st.sampled_from(["", "choices", "output", "content"]))
def test_any_json(read: Callable[[str, str], ChatReply], body: Any, around: str) -> None:
    whole = {around: body if isinstance(body, list) else [body]} if around else body
    try:
        reply = read(json.dumps(whole), "http://x")
    except TransientModelError as error:
        assert "http://x" in error.message
        return
    assert isinstance(reply.text, str) and reply.finish in ("stop", "length", "refusal", "tool_calls")
    for count in (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens):
        assert count is None or count >= 0
    assert all(isinstance(call.name, str) and isinstance(call.arguments, str) for call in reply.tool_calls)


@pytest.mark.parametrize("odd", [None, 5, "text", {}, [], [None], [5], ["x"], {"type": "text"}, True])
def test_odd_content(odd: Any) -> None:
    for read, body in (
        (read_reply, {"choices": [{"message": {"content": odd, "tool_calls": odd, "refusal": odd}}], "usage": odd}),
        (read_response, {"output": [{"type": "message", "content": odd}, odd], "usage": odd}),
        (read_message, {"content": [odd, {"type": "tool_use", "input": odd}], "usage": odd, "stop_reason": odd}),
    ):
        assert isinstance(read(json.dumps(body), "http://x"), ChatReply)


@pytest.mark.parametrize("odd", [5, "text", {}, [], [None], True])
def test_a_response_of_unknown_status_is_no_answer(odd: Any) -> None:
    body = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "4"}]}], "status": odd}
    with pytest.raises(TransientModelError, match="without output"):
        read_response(json.dumps(body), "http://x")


@pytest.mark.parametrize("read", [read_reply, read_response, read_message])
@given(text=st.text(max_size=40))
def test_any_text(read: Callable[[str, str], ChatReply], text: str) -> None:
    with pytest.raises(TransientModelError):
        read(text, "http://x")


@given(status=st.integers(300, 599), body=st.text(max_size=60) | JSON.map(json.dumps))
def test_any_failure_has_a_class_and_one_line(status: int, body: str) -> None:
    error = status_error(status, body, {}, where="http://x", secrets=())
    assert isinstance(error, ModelError) and f"http://x answered {status}: " in error.message
    assert "\n" not in error.message
