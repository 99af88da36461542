"""A chat request as a program takes it that only knows a prompt, and tool calls read back from its reply.

Several messages become marked blocks of one prompt; images become files of the directory; tools are described in the
instructions and their calls asked for as JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from skillopt.core.json_types import parse_json
from skillopt.model.providers.wire.schema_text import schema_text
from skillopt.model.types import ChatReply, ChatRequest, Message, ToolCall

_IMAGE = re.compile(r"data:image/([a-z]+)[^,]*;base64,(.*)", re.DOTALL)
_TOOL_REPLY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name", "arguments"],
            },
        },
    },
    "required": ["content", "tool_calls"],
}


@dataclass(frozen=True)
class Question:
    """A request as a program takes it: instructions, the prompt, a schema for the reply, image files."""

    instructions: str
    prompt: str
    schema: Mapping[str, Any] | None
    images: Mapping[str, bytes]
    effort: str = ""


def asked(request: ChatRequest, *, effort: str = "") -> Question:
    """Lay a request out for a program."""
    systems = [_text(m) for m in request.messages if m.role == "system"]
    rest = [m for m in request.messages if m.role != "system"]
    images: dict[str, bytes] = {}
    blocks = [_block(m, images, alone=len(rest) == 1) for m in rest]
    schema: Mapping[str, Any] | None = request.schema
    if request.tools:
        described = json.dumps([dict(tool) for tool in request.tools], ensure_ascii=False)
        wanted = {"none": "Call none of them.", "required": "Call at least one."}.get(str(request.tool_choice), "")
        systems.append(
            f"You can have these tools called for you:\n{described}\nList the calls you want in `tool_calls`, with an "
            f"empty list when you are done; what you have to say goes into `content`. {wanted}".strip()
        )
        schema = _TOOL_REPLY
    if images:
        blocks.append(f"The images are files of this directory, read them first: {', '.join(images)}")
    return Question("\n\n".join(systems), "\n\n".join(blocks), schema, images, effort)


def _block(message: Message, images: dict[str, bytes], *, alone: bool) -> str:
    text = _text(message)
    if not isinstance(message.content, str):
        for part in message.content:
            match = _IMAGE.match(str(cast("Mapping[str, Any]", part.get("image_url") or {}).get("url", "")))
            try:
                content = base64.b64decode(match.group(2)) if match else None
            except binascii.Error:
                content = None
            if match and content is not None:
                images[f"image_{len(images) + 1:02d}.{match.group(1)}"] = content
    calls = "".join(f"\n[called {c.name} with {c.arguments}]" for c in message.tool_calls)
    return text if alone and not calls else f"<{message.role}>\n{text}{calls}\n</{message.role}>"


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(p["text"]) for p in message.content if p.get("type") == "text")


def with_tool_calls(reply: ChatReply) -> ChatReply:
    """Read the calls out of a reply that was asked for them; a reply in another shape is plain text."""
    text = re.sub(r"\A\s*```(?:json)?\s*|\s*```\s*\Z", "", reply.text)
    try:
        value: Any = parse_json(text)
    except ValueError:
        return reply
    if not isinstance(value, dict) or not isinstance(cast("dict[str, Any]", value).get("tool_calls"), list):
        return reply
    found = cast("dict[str, Any]", value)
    calls = [cast("dict[str, Any]", c) for c in found["tool_calls"] if isinstance(c, dict) and "name" in c]
    made = tuple(
        ToolCall(f"call_{n}", str(c["name"]), json.dumps(c.get("arguments") or {}, ensure_ascii=False))
        for n, c in enumerate(calls, start=1)
    )
    content = found.get("content")
    return replace(
        reply,
        text=content if isinstance(content, str) else "",
        tool_calls=made,
        finish="tool_calls" if made else reply.finish,
    )


def in_words(question: Question) -> str:
    """Instructions and schema as one text, for programs that have no place of their own for one of them."""
    parts = [question.instructions, schema_text(question.schema) if question.schema is not None else ""]
    return "\n\n".join(part for part in parts if part)
