"""A reply schema in words, for models whose provider has no field for it."""

from __future__ import annotations

import json
from dataclasses import replace

from skillopt.core.json_types import JsonObject
from skillopt.model.types import ChatRequest, Message


def schema_text(schema: JsonObject) -> str:
    """What the model is told."""
    return "Reply with one JSON value only. Its JSON schema:\n" + json.dumps(dict(schema), ensure_ascii=False)


def with_schema_told(request: ChatRequest) -> ChatRequest:
    """The request with its schema moved into the system message; the same request when it has none."""
    if request.schema is None:
        return request
    text = schema_text(request.schema)
    first, *rest = request.messages
    if first.role == "system" and isinstance(first.content, str):
        messages = (Message("system", f"{first.content}\n\n{text}"), *rest)
    else:
        messages = (Message("system", text), *request.messages)
    return replace(request, messages=messages, schema=None)
