"""From a model's text to one JSON value, or to the error that a second question shows.

Reasoning blocks are stripped; then exactly one object, or one array of objects, must be in the text, fenced or bare.
Tolerated is only what cannot change the meaning: raw newlines in strings, comments, trailing commas. Two values, a
broken value, a number beyond all numbers (`1e999`), a repeated key or an unclosed reasoning block raise `ReplyError`;
nothing is guessed and nothing dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import finite, no_constant
from skillopt.core.replies.reasoning import NAMES as _THINKING
from skillopt.model.types import ChatModel, ChatRequest, Message, Usage

T = TypeVar("T")

_MARK = re.compile(rf"<(?P<open>{_THINKING})>|</(?P<close>{_THINKING})>|[\[{{]", re.IGNORECASE)
_LOOKS_LIKE_JSON = re.compile(r"""\{\s*(["'}/]|\w+\s*:)|\[\s*(\{|//|/\*)""")
_CLOSED = re.compile(rf"</(?:{_THINKING})>")
_FENCE = re.compile(r"```\w*")
_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SHOWN = 4_000
"""Characters of a bad reply that are sent back with the error."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return found


_DECODER = json.JSONDecoder(
    strict=False, parse_constant=no_constant, parse_float=finite, object_pairs_hook=_unique_keys
)


def parse_reply(text: str) -> Any:
    """The one object or array of objects in a reply; an array of anything when it is the whole reply.

    Raises `ReplyError` with a sentence that the model can act on.
    """
    try:
        found = _scan(text)
    except RecursionError:
        raise ReplyError("the JSON is nested too deeply") from None
    bare_list = "" if found else _bare_list(text)
    if bare_list:
        return _whole_list(bare_list)
    if not found:
        raise ReplyError("the reply holds no JSON object")
    if len(found) > 1:
        raise ReplyError(f"the reply holds {len(found)} JSON values, exactly one is expected")
    return found[0]


def _bare_list(text: str) -> str:
    """The list that a reply is as a whole, behind its reasoning and inside its fence; blank when it is none."""
    start = max((closed.end() for closed in _CLOSED.finditer(text)), default=0)
    rest = text[start:].strip()
    fence = _FENCE.match(rest)
    rest = rest[fence.end() :].lstrip() if fence else rest
    rest = rest.removesuffix("```").rstrip()
    return rest if rest.startswith("[") and rest.endswith("]") else ""


def _whole_list(text: str) -> Any:
    try:
        return _DECODER.decode(_scrub(text))
    except RecursionError:
        raise ReplyError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ReplyError(_explain(error)) from None


def _scan(text: str) -> list[Any]:
    """Every JSON value outside reasoning blocks, left to right."""
    found: list[Any] = []
    at, scrubbed = 0, False
    while mark := _MARK.search(text, at):
        if mark["open"]:
            closing = re.compile(rf"</{mark['open']}>", re.IGNORECASE).search(text, mark.end())
            if closing is None:
                raise ReplyError("the reply ends inside its reasoning block")
            at = closing.end()
        elif mark["close"]:
            # Some chat templates write the opening tag into the prompt: what came before is reasoning.
            found.clear()
            at = mark.end()
        elif not _LOOKS_LIKE_JSON.match(text, mark.start()):
            at = mark.end()
        else:
            value, rest, at = _decode(text, mark.start(), scrubbed=scrubbed)
            scrubbed, text = scrubbed or rest is not text, rest
            if isinstance(value, dict) or _is_object_list(value):
                found.append(value)
    return found


def _is_object_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in cast("list[Any]", value))


def _decode(text: str, start: int, *, scrubbed: bool) -> tuple[Any, str, int]:
    """(value, text to scan on, place in it). A text is scrubbed once, so that every reply takes linear time."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return value, text, end
    except ValueError as strict_error:
        rest = text[start:] if scrubbed else _scrub(text[start:])
        try:
            value, end = _DECODER.raw_decode(rest)
            return value, rest, end
        except ValueError:
            raise ReplyError(_explain(strict_error)) from None


def _scrub(text: str) -> str:
    """The text without comments and trailing commas; strings are left alone."""

    def keep_strings(match: re.Match[str]) -> str:
        return match.group() if match.group().startswith('"') else ""

    return _TRAILING_COMMA.sub(keep_strings, _without_comments(text))


def _without_comments(text: str) -> str:
    """A comment that is never closed is none."""
    kept: list[str] = []
    at = copied = 0
    last_close = text.rfind("*/")
    while found := _COMMENT.search(text, at):
        at = found.end()
        if found.group() == "/*" and last_close >= at:
            at = text.find("*/", at) + 2
        elif not found.group().startswith("//"):
            continue
        kept.append(text[copied : found.start()])
        copied = at
    return "".join((*kept, text[copied:]))


def _explain(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        near = error.doc[max(0, error.pos - 20) : error.pos + 20].replace("\n", "\\n")
        return f"the JSON is not valid: {error.msg} near {near!r}"
    return f"the JSON is not valid: {error}"


@dataclass(frozen=True)
class ReadReply(Generic[T]):
    """What became of a question for JSON.

    `value` is None when the reply was dropped; `dropped` then says why (`truncated`, `refused`, or the last error).
    `reasks` counts second questions; `usages` has one entry per answered question; `text` is the last reply.
    """

    value: T | None
    text: str
    usages: tuple[Usage, ...]
    reasks: int = 0
    dropped: str = ""


async def ask_json(model: ChatModel, request: ChatRequest, validate: Callable[[Any], T]) -> ReadReply[T]:
    """Ask for JSON; on a reply that does not parse or that `validate` refuses with `ReplyError`, ask once more.

    The second question repeats the first, shows the reply and the error. Errors of the call itself are raised as
    `ChatModel.chat` raises them.
    """
    usages: list[Usage] = []
    reasks = 0
    while True:
        reply = await model.chat(request)
        usages.append(reply.usage)
        if reply.finish in ("length", "refusal"):
            reason = "truncated" if reply.finish == "length" else "refused"
            return ReadReply(None, reply.text, tuple(usages), reasks, reason)
        try:
            value = validate(parse_reply(reply.text))
            return ReadReply(value, reply.text, tuple(usages), reasks)
        except ReplyError as error:
            if reasks == 1:
                return ReadReply(None, reply.text, tuple(usages), reasks, error.message)
            reasks = 1
            request = _with_error(request, reply.text, error.message)


def _with_error(request: ChatRequest, text: str, error: str) -> ChatRequest:
    again = (
        f"Your reply could not be used: {error}. Send the answer again as exactly one JSON value in the format asked "
        "for, with no other text."
    )
    shown = text[:_SHOWN] or "(empty)"
    return replace(request, messages=(*request.messages, Message("assistant", shown), Message("user", again)))
