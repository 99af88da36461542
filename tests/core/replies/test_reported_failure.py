"""A body of status 200 that reports a failure is no answer, in whichever shape a provider or gateway says it."""

from __future__ import annotations

import json

import pytest

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.json_types import JsonObject
from skillopt.core.replies.ending import ending_of
from skillopt.core.replies.reported_failure import reported_failure
from skillopt.model.providers.wire.messages import read_message
from skillopt.model.providers.wire.reply import read_reply, read_usage
from skillopt.model.providers.wire.responses import read_response

MESSAGE = {"role": "assistant", "content": "Paris"}
CHOICES = [{"index": 0, "finish_reason": "stop", "message": MESSAGE}]
FAILURES: list[tuple[JsonObject, type[Exception], str]] = [
    ({"errors": [{"code": 7009, "message": "Upstream unavailable"}]}, TransientModelError, "Upstream unavailable"),
    ({"errors": "no worker"}, TransientModelError, "no worker"),
    ({"base_resp": {"status_code": 1013, "status_msg": "internal"}}, TransientModelError, "internal"),
    ({"object": "error", "message": "overloaded", "code": 503}, TransientModelError, "answered 503: overloaded"),
    ({"type": "error", "message": "went away"}, TransientModelError, "went away"),
    ({"success": False, "message": "quota of the day"}, TransientModelError, "quota of the day"),
    ({"statusCode": 429, "message": "slow down"}, TransientModelError, "answered 429: slow down"),
    ({"status": "failed", "message": "the job died"}, TransientModelError, "the job died"),
    ({"code": "InternalError", "msg": "", "message": "boom"}, TransientModelError, "boom"),
    ({"error": {"type": "authentication_error", "message": "no"}}, FatalModelError, "answered 401: no"),
    ({"error": {"status": "PERMISSION_DENIED", "message": "not you"}}, FatalModelError, "answered 403: not you"),
    ({"error": {"code": 502.0, "message": "gateway"}}, TransientModelError, "answered 502: gateway"),
]
FINE: list[JsonObject] = [
    {"errors": []}, {"error": None, "code": 0, "message": "success"}, {"base_resp": {"status_code": 0}},
    {"success": True, "status": "completed"}, {"code": "200", "message": "OK"}, {"status": 200, "type": "message"},
    {"code": "SUCCESS", "message": "request processed"},
]  # fmt: skip


@pytest.mark.parametrize(("more", "kind", "words"), FAILURES)
def test_a_reported_failure_is_no_answer_on_any_wire(more: JsonObject, kind: type[Exception], words: str) -> None:
    part = {"type": "output_text", "text": "Paris"}
    bodies = (
        (read_reply, {"choices": CHOICES}),
        (read_message, {"content": [{"type": "text", "text": "Paris"}]}),
        (read_response, {"output": [{"type": "message", "content": [part]}]}),
    )
    for read, answer in bodies:
        with pytest.raises(kind, match=words):
            read(json.dumps({**answer, **more}), "URL")


@pytest.mark.parametrize("more", FINE)
def test_success_by_another_name_is_none(more: JsonObject) -> None:
    assert reported_failure({"choices": CHOICES, **more}) is None
    assert read_reply(json.dumps({"choices": CHOICES, **more}), "URL").text == "Paris"


def test_what_the_model_itself_said_about_its_end_counts() -> None:
    def read(native: str, **message: object) -> str:
        choice = {"finish_reason": "stop", "native_finish_reason": native, "message": {**MESSAGE, **message}}
        return read_reply(json.dumps({"choices": [choice]}), "URL").finish

    assert [read("MAX_TOKENS"), read("SAFETY"), read("completed"), read("whatever")] == [
        "length", "refusal", "stop", "stop",
    ]  # fmt: skip
    with pytest.raises(TransientModelError, match="MALFORMED_FUNCTION_CALL"):
        read("MALFORMED_FUNCTION_CALL", content="")
    assert ending_of({"type": "length"}) == "length" and ending_of("error: upstream reset") == "failed"
    assert ending_of("upstream_timeout") == "failed" and ending_of({}) == ending_of("ratelimited-soft") == "unknown"


def test_a_cut_item_of_a_response_is_a_cut_reply() -> None:
    item = {"type": "message", "status": "incomplete", "content": [{"type": "output_text", "text": "Par"}]}
    assert read_response(json.dumps({"status": "completed", "output": [item]}), "URL").finish == "length"


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a":' * 100_000, '{"choices":' + "[" * 100_000, '{"a":' + "1" * 5000 + "}"]
)
def test_a_hostile_body_is_no_crash(text: str) -> None:
    for read in (read_reply, read_message, read_response):
        with pytest.raises(TransientModelError, match="invalid JSON"):
            read(text, "URL")


def test_counts_that_no_table_holds_are_unknown() -> None:
    assert read_usage({"prompt_tokens": 10**30, "completion_tokens": 7}).prompt_tokens is None
