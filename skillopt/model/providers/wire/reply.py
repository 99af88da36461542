"""Reading what a server sent: an OpenAI-compatible reply, or any provider's failure put into its class.

A body that is no answer (empty, cut, not JSON, without choices) is a transient fault, never an empty answer. Failures
carry status, URL and the server's own words, shortened, on one line, and free of secrets.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

from skillopt.core.errors import Cause, ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import as_text, parse_json
from skillopt.core.replies.ending import Ending, Finish, ending_of
from skillopt.core.replies.reported_failure import reported_failure, status_told
from skillopt.core.shorten import shorten
from skillopt.model.types import ChatReply, ToolCall, Usage

_TRANSIENT = frozenset({408, 409, 425, 429})
_OVERLOADED = frozenset({429, 503, 529})
_UNREACHABLE = frozenset({502, 503, 504})
_CONTEXT = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:available )?context|input is too long|reduce the length",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content_filter|content management policy|content[ _]filtering policy|content_policy|invalid_prompt"
    r"|flagged as potentially violating",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
_CAUSES: Mapping[int, Cause] = {
    400: "request", 401: "key", 402: "credit", 403: "forbidden", 404: "address", 405: "address", 407: "unreachable",
    422: "request", **dict.fromkeys((301, 302, 303, 307, 308), "moved"),
}  # fmt: skip
_UNKNOWN_MODEL = re.compile(r"model_not_found|DeploymentNotFound|not_found_error|model\b.{0,80}(?:not exist|not found)")
LONGEST_WORDS = 600
_MOST_TOKENS = 10**12
"""A larger count is no count, and no table of the journal could hold it."""
_WORDS = ("message", "msg", "error", "detail", "status_msg", "errors", "code")
"""Where failures say what they are, the best first."""


def read_reply(text: str, where: str) -> ChatReply:
    """The reply in a 200's body. Raises `TransientModelError` for anything that is not one; `where` is the URL."""
    raw = parse_body(text, where)
    body = as_mapping(raw)
    if (told := reported_failure(body)) is not None:
        raise inner_error(told, where)
    choice = _first_choice(raw)
    if choice is None:
        raise TransientModelError(f"{where} answered without choices: {shorten(text, 300)}", cause="foreign")
    message = cast("Mapping[str, Any]", choice.get("message") or {})
    finish, ended_with = read_finish(choice.get("finish_reason"), text, where)
    if finish == "stop" and ending_of(choice.get("native_finish_reason")) in ("failed", "length", "refusal"):
        # A gateway says "stop" for what it has no word for; the model's own word stands beside.
        finish, ended_with = read_finish(choice["native_finish_reason"], text, where)
    content, refused = _content(message.get("content")), message.get("refusal") or _refused(message.get("content"))
    usage, model = read_usage(body.get("usage")), str(body.get("model") or "")
    if not content and refused:
        return ChatReply(str(refused), "refusal", usage, model)
    calls = _tool_calls(message.get("tool_calls"))
    if finish == "stop" and (calls or (not content and message.get("tool_calls"))):
        finish = "tool_calls"
    thought = message.get("reasoning_content") or message.get("reasoning")
    if not content and not calls and finish == "stop" and isinstance(thought, str) and thought.strip():
        content = f"<think>{thought.strip()}</think>"  # said without an answer: visible as what it is
    return ChatReply(content or "", finish, usage, model, calls, ended_with)


def _tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    """The well-formed calls; a function without a name cannot be called and is left out."""
    calls: list[ToolCall] = []
    for entry in cast("list[Any]", raw) if isinstance(raw, list) else ():
        call = as_mapping(entry)
        function = as_mapping(call.get("function"))
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            calls.append(ToolCall(str(call.get("id") or f"call_{len(calls)}"), name, text))
    return tuple(calls)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value when it is a JSON object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def parse_body(text: str, where: str) -> Any:
    """The JSON of a 200's body. Raises `TransientModelError` when it is empty or no JSON."""
    if not text.strip():
        raise TransientModelError(f"{where} answered with an empty body", cause="broken")
    try:
        return parse_json(text)
    except ValueError:
        page = text.lstrip()[:1] == "<"
        raise TransientModelError(
            f"{where} answered with {'a web page' if page else 'invalid JSON'}: {shorten(text, 120)!r}",
            cause="foreign" if page else "broken",
        ) from None


def _first_choice(raw: Any) -> Mapping[str, Any] | None:
    choices: Any = cast("Mapping[str, Any]", raw).get("choices") if isinstance(raw, Mapping) else None
    if not isinstance(choices, list) or not choices:
        return None
    first: Any = cast("list[Any]", choices)[0]
    if not isinstance(first, Mapping):
        return None
    choice = cast("Mapping[str, Any]", first)
    return choice if isinstance(choice.get("message"), Mapping) else None


def _content(content: Any) -> str | None:
    """Text of a message; some servers send a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        return "".join(part if isinstance(part, str) else as_text(as_mapping(part).get("text")) for part in parts)
    return str(content)


def _refused(content: Any) -> str:
    """The words of a refusal among the parts of a message."""
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return "".join(as_text(as_mapping(part).get("refusal")) for part in parts)


def read_usage(raw: Any) -> Usage:
    """Usage block to `Usage`; what is absent or no whole number stays None."""
    if not isinstance(raw, Mapping):
        return Usage()
    usage = cast("Mapping[str, Any]", raw)

    def told(*names: str) -> Any:
        return next((usage[name] for name in names if usage.get(name) is not None), None)

    read = as_mapping(told("prompt_tokens_details", "input_tokens_details"))
    made = as_mapping(told("completion_tokens_details", "output_tokens_details"))
    return Usage(
        prompt_tokens=whole(told("prompt_tokens", "input_tokens")),
        completion_tokens=whole(told("completion_tokens", "output_tokens")),
        cached_tokens=whole(read.get("cached_tokens")),
        reasoning_tokens=whole(made.get("reasoning_tokens")),
    )


def whole(value: Any) -> int | None:
    """A count that a provider reported; None for anything that is not one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def server_words(body: str, secrets: Collection[str] = ()) -> str:
    """What a failed response says, from the usual error shapes or the raw text; one line without secrets."""
    try:
        raw: Any = parse_json(body)
    except ValueError:
        return shorten(body, LONGEST_WORDS, secrets)
    error: Any = cast("Mapping[str, Any]", raw).get("error", raw) if isinstance(raw, Mapping) else raw
    return shorten(_told(error), LONGEST_WORDS, secrets)


def _told(error: Any) -> str:
    """The words of an error object, or the object itself."""
    if not isinstance(error, Mapping):
        return str(error)
    fields = cast("Mapping[str, Any]", error)
    words = next((fields[name] for name in _WORDS if fields.get(name)), None)
    return str(words if words else json.dumps(fields))


def inner_error(error: Any, where: str) -> ModelError:
    """The error that a 200 reports in its body: put into its class by its status, else one that is asked again."""
    status = status_told(error)
    body = error if isinstance(error, str) else json.dumps(error)
    if not status and _NO_CREDIT.search(body):
        status = 402
    if status:
        return status_error(status, json.dumps({"error": error}), {}, where=where, secrets=())
    overloaded = re.search(r"overload|rate.?limit|capacity", body, re.IGNORECASE) is not None
    return TransientModelError(
        f"{where} answered with an error: {shorten(_told(error), LONGEST_WORDS)}",
        overloaded=overloaded,
        cause="busy" if overloaded else "broken",
    )


def read_finish(word: Any, text: str, where: str, *, also: Iterable[tuple[str, Ending]] = ()) -> tuple[Finish, str]:
    """(finish, the provider's word where it is unknown). Raises `TransientModelError` when the word is a failure's;
    `text` is the body, for the message."""
    ending = ending_of(word, also=also)
    if ending == "failed":
        raise TransientModelError(f"{where}: the reply ended with {shorten(str(word), 60)!r}: {shorten(text, 300)}")
    return ending, shorten(str(word), 60) if ending == "unknown" else ""


def is_filtered(status: int, body: str) -> bool:
    """True when a filter of the provider's refused this prompt or its answer: a refusal, no fault of the request."""
    return status in (400, 403) and _FILTERED.search(body) is not None


def status_error(
    status: int, body: str, headers: Mapping[str, str], *, where: str, secrets: Collection[str]
) -> ModelError:
    """The error for a response with a failure status."""
    words = server_words(body, secrets)
    message = f"{where} answered {status}: {words or 'no explanation'}"
    if (status in (402, 403, 429) and _NO_CREDIT.search(body)) or (status == 400 and "credit balance" in body):
        return FatalModelError(message, cause="credit")
    if status in _TRANSIENT or status >= 500:
        overloaded = status in _OVERLOADED or "overload" in body.lower()
        return TransientModelError(
            message,
            retry_after=retry_after(headers),
            overloaded=overloaded,
            unreachable=status in _UNREACHABLE,
            cause="busy" if overloaded else _passing(status),
        )
    if status == 413 or (status in (400, 422) and _CONTEXT.search(body)):
        return ContextOverflow(message)
    unknown_model = status in (400, 404) and _UNKNOWN_MODEL.search(body)
    return FatalModelError(message, cause="model" if unknown_model else _CAUSES.get(status, ""))


def _passing(status: int) -> Cause:
    return "broken" if status >= 500 or status == 408 else "busy"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The server's wish in seconds: `retry-after-ms`, or `Retry-After` as a number or a date. None without one."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                continue
        if 0 <= seconds < float("inf"):
            return seconds
        return 0.0 if seconds < 0 else None
    return None
