"""The failure that a body of status 200 reports, in the shapes that providers and gateways use for it.

An `error` (at the top, in the choice or in its message), a list of `errors`, MiniMax's `base_resp`, `success: false`,
an object of the type "error", a status that is a failure's. Zero and the codes of success are none. The answer is what
says it, for a message and for its class; None where the body reports no failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.core.replies.ending import ending_of

_FAILED_STATUS = re.compile(r"[45]\d\d(?:\.0)?")
_FINE_CODES = frozenset({"", "0", "200", "ok", "success", "succeeded", "none", "completed"})
_TEXT_CODES: Mapping[int, str] = {
    400: "invalid_request_error invalid_request invalid_argument bad_request",
    401: "authentication_error invalid_api_key unauthorized unauthenticated invalid_authentication invalid_token",
    402: "insufficient_quota billing_error payment_required insufficient_balance",
    403: "permission_error permission_denied forbidden access_denied",
    404: "not_found_error not_found model_not_found",
    429: "rate_limit_error rate_limit_exceeded rate_limited too_many_requests resource_exhausted",
    500: "api_error server_error internal internal_error internal_server_error",
    503: "overloaded_error overloaded unavailable service_unavailable engine_overloaded",
}
_STATUS_OF: Mapping[str, int] = {word: status for status, words in _TEXT_CODES.items() for word in words.split()}


def reported_failure(body: JsonObject) -> JsonValue:
    """What a body says went wrong.

    >>> reported_failure({"errors": [{"message": "busy"}]}), reported_failure({"base_resp": {"status_code": 0}})
    ({'message': 'busy'}, None)
    """
    choices = as_array(body.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    for place in (body, choice, as_object(choice.get("message"))):
        if place.get("error"):
            return place["error"]
    errors = body.get("errors")
    if errors:
        return as_array(errors)[0] if as_array(errors) else errors
    base = as_object(body.get("base_resp"))
    if base.get("status_code") not in (None, 0, "0"):
        return {"message": base.get("status_msg"), "code": base["status_code"]}
    return _as_a_whole(body)


def _as_a_whole(body: JsonObject) -> JsonValue:
    """The body itself where its own type, status or code is a failure's."""
    states = [body.get(name) for name in ("status", "statusCode", "status_code", "code")]
    failed = any(_is_failed(state) for state in states) or body.get("success") is False
    typed = any(as_text(body.get(name)).lower() == "error" for name in ("object", "type"))
    code = as_text(body.get("code"))
    coded = code.lower() not in _FINE_CODES and not code.isdigit() and bool(as_text(body.get("message")))
    return cast("JsonValue", body) if failed or typed or coded else None


def _is_failed(state: JsonValue) -> bool:
    if isinstance(state, bool) or not isinstance(state, (int, float, str)):
        return False
    return _FAILED_STATUS.fullmatch(str(state)) is not None or ending_of(state) == "failed"


def status_told(failure: JsonValue) -> int:
    """The HTTP status that a failure names in a number or a word; 0 where it names none.

    >>> status_told({"code": "502"}), status_told({"type": "authentication_error"}), status_told("boom")
    (502, 401, 0)
    """
    fields = as_object(failure)
    told = [fields.get(name) for name in ("code", "status", "status_code", "statusCode", "type")]
    for value in told:
        if isinstance(value, (int, float, str)) and _FAILED_STATUS.fullmatch(str(value)):
            return int(float(value))
    return next((_STATUS_OF[word] for word in (as_text(value).lower() for value in told) if word in _STATUS_OF), 0)
