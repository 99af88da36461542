"""What agent programs ask of a model server, by path: whether it is billed, what it used, whether an answer is whole.

OpenAI's chat and responses, Anthropic's messages and Google's contents, each in one piece or as a stream of events.
Bodies pass through unchanged; here they are only read. A path that is not listed is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skillopt.model.providers.wire.reply import as_mapping, read_usage, whole
from skillopt.model.tokens import IMAGE_TOKENS, bound
from skillopt.model.types import Usage

Dialect = Literal["chat", "responses", "messages", "contents", "free"]

UNBOUNDED_COMPLETION = 16_384
"""Reserved for the answer to a request that names no cap."""

_PATHS: tuple[tuple[str, str, Dialect], ...] = (
    ("POST", r"/v1/chat/completions", "chat"),
    ("POST", r"/v1/responses(?:/compact)?", "responses"),
    ("POST", r"/v1/messages", "messages"),
    ("POST", r"/v1/messages/count_tokens", "free"),
    ("GET", r"/v1/models(?:/[\w.:@%-]+)*", "free"),
    ("POST", r"/v1beta/models/[\w.:@%-]+:(?:stream)?[gG]enerateContent", "contents"),
    ("POST", r"/v1beta/models/[\w.:@%-]+:countTokens", "free"),
    ("GET", r"/v1beta/models(?:/[\w.:@%-]+)?", "free"),
)
_CAPS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_IMAGE = re.compile(r'"(?:data:image/[^"]{200,}|[A-Za-z0-9+/=]{2000,})"')


@dataclass(frozen=True)
class Asked:
    """A request as far as it is read. `model` is blank where it names none; both figures are the most it can use."""

    dialect: Dialect
    model: str
    streams: bool
    prompt_tokens: int
    completion_tokens: int


def dialect_of(method: str, path: str) -> Dialect | None:
    """The dialect of a path; None for one that no program needs."""
    return next((d for m, p, d in _PATHS if m == method and re.fullmatch(p, path)), None)


def read_request(dialect: Dialect, path: str, body: bytes) -> Asked:
    """What a request asks for. Raises `ValueError` when its body is no JSON object."""
    text = body.decode("utf-8", "replace")
    raw: Any = json.loads(text) if text.strip() else {}
    if not isinstance(raw, dict):
        raise ValueError("the body is not a JSON object")
    fields = as_mapping(raw)
    named = re.search(r"/models/([^/:]+):", path) if dialect == "contents" else None
    settings = {**fields, **as_mapping(fields.get("generationConfig"))}
    settings["max_tokens"] = settings.get("max_tokens") or settings.get("maxOutputTokens")
    cap = next((n for n in (whole(settings.get(name)) for name in _CAPS) if n), None)
    lean, images = _IMAGE.subn('""', text)
    return Asked(
        dialect=dialect,
        model=named.group(1) if named else str(fields.get("model") or ""),
        streams=fields.get("stream") is True or ":stream" in path,
        prompt_tokens=bound(lean) + images * IMAGE_TOKENS,
        completion_tokens=cap or UNBOUNDED_COMPLETION,
    )


@dataclass(frozen=True)
class Told:
    """What an answer says of itself. One that is not `complete` was cut on its way."""

    usage: Usage
    complete: bool
    error: Any = None


def read_answer(dialect: Dialect, body: str, *, streamed: bool) -> Told:
    """Usage, wholeness and inner error of a 200's body."""
    try:
        events = _events(body) if streamed else [json.loads(body)]
    except ValueError:
        return Told(Usage(), False)
    usage, complete, error = Usage(), not streamed, None
    counts: dict[str, Any] = {}
    for raw in events:
        event = as_mapping(raw[0] if isinstance(raw, list) and raw else raw)
        error = error or event.get("error") or as_mapping(event.get("response")).get("error")
        if dialect == "messages":
            counts |= {k: v for k, v in _message_usage(event).items() if v is not None}
            complete = complete or event.get("type") == "message_stop"
        elif dialect == "contents":
            counts |= as_mapping(event.get("usageMetadata"))
            complete = complete or '"finishReason"' in json.dumps(event)
        else:
            inner = as_mapping(event.get("response")) or event
            if inner.get("usage"):
                usage = read_usage(inner.get("usage"))
            complete = complete or event.get("type") in ("response.completed", "response.incomplete")
            complete = complete or _chat_finished(event)
    if dialect == "messages":
        usage = _anthropic(counts)
    elif dialect == "contents":
        usage = _google(counts)
    return Told(usage, complete and error is None, error)


def _events(body: str) -> list[Any]:
    """The data of a stream of events. Raises `ValueError` for one that is no JSON."""
    lines = (line[5:].strip() for line in body.splitlines() if line.startswith("data:"))
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def _chat_finished(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices")
    return isinstance(choices, list) and any(as_mapping(c).get("finish_reason") for c in choices)  # pyright: ignore[reportUnknownVariableType]


def _message_usage(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(event.get("message")).get("usage") or event.get("usage"))


def _anthropic(raw: Mapping[str, Any]) -> Usage:
    """Anthropic counts what was read from the cache, or written to it, apart from the input."""
    fresh, read = whole(raw.get("input_tokens")), whole(raw.get("cache_read_input_tokens"))
    written = whole(raw.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        completion_tokens=whole(raw.get("output_tokens")),
        cached_tokens=read,
        written_tokens=written,
        hour_tokens=whole(as_mapping(raw.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )


def _google(raw: Mapping[str, Any]) -> Usage:
    """Google counts thoughts apart from the answer."""
    said, thought = whole(raw.get("candidatesTokenCount")), whole(raw.get("thoughtsTokenCount"))
    return Usage(
        prompt_tokens=whole(raw.get("promptTokenCount")),
        completion_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cached_tokens=whole(raw.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
    )
