"""Text that can travel: half surrogate pairs come from broken files, have no UTF-8 form, and are replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skillopt.model.types import ChatRequest, Message


def encodable_text(text: str) -> str:
    """`text` itself, or with U+FFFD for each half surrogate pair."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def encodable(request: ChatRequest) -> ChatRequest:
    """The request with every text of its messages encodable: itself, where all of them are."""
    messages = tuple(_message(message) for message in request.messages)
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return request
    return replace(request, messages=messages)


def _message(message: Message) -> Message:
    if isinstance(message.content, str):
        if message.content.isascii() and not message.tool_calls:
            return message
        content: Any = encodable_text(message.content)
    else:
        content = tuple(
            {name: encodable_text(value) if isinstance(value, str) else value for name, value in part.items()}
            for part in message.content
        )
    calls = tuple(replace(call, arguments=encodable_text(call.arguments)) for call in message.tool_calls)
    return replace(message, content=content, tool_calls=calls)
