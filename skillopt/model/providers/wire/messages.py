"""The Messages API: our question in its shape, its answer in ours, and what a refusal teaches about the shape.

System text stands apart, tool results are user blocks, empty text is not allowed anywhere. Cache marks stand behind the
system text (tools and system are what calls share) and, in a conversation, behind its last block, so that the next turn
reads what this one wrote. Sampling parameters have no counterpart in the API's present version and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from skillopt.core.errors import TransientModelError
from skillopt.core.json_types import finite, no_constant
from skillopt.core.replies.reported_failure import reported_failure
from skillopt.core.shorten import shorten
from skillopt.model.providers.wire.dialect import is_refused_form, names_field
from skillopt.model.providers.wire.reply import as_mapping, inner_error, parse_body, read_finish, whole
from skillopt.model.providers.wire.schema_text import schema_text
from skillopt.model.types import Cache, ChatReply, ChatRequest, Message, ToolCall, Usage

PATH = "/v1/messages"
_CACHE: Mapping[Cache, dict[str, str]] = {
    "minutes": {"type": "ephemeral"},
    "hour": {"type": "ephemeral", "ttl": "1h"},
}
_NOTHING = "(empty)"
"""In place of an empty message, which the API refuses."""
_DATA_URL = re.compile(r"data:(?P<type>[\w/.+-]+);base64,(?P<data>.*)", re.DOTALL)
Part = Literal["effort", "format", "tool_choice", "cache_control"]
_WORDS: Mapping[Part, tuple[str, ...]] = {
    "tool_choice": ("tool_choice",),
    "cache_control": ("cache_control",),
    "effort": ("effort", "output_config.effort"),
    "format": ("format", "output_config.format", "json_schema", "schema", "output_config"),
}


@dataclass(frozen=True)
class Form:
    """One form of the request; `omitted` parts are what the model or the server has refused."""

    omitted: frozenset[Part] = frozenset()

    def body(self, request: ChatRequest, *, model: str, effort: str = "") -> dict[str, Any]:
        """The JSON body of an encodable request. `effort` holds where the request sets none."""
        system, turns = _split(request.messages)
        body: dict[str, Any] = {"model": model, "max_tokens": request.max_completion_tokens}
        effort = request.reasoning_effort or effort
        if effort and self.has("effort"):
            body["output_config"] = {"effort": effort}
        if request.schema is not None and self.has("format"):
            output = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
            body["output_config"] = {**body.get("output_config", {}), **output}
        elif request.schema is not None:
            system.append(schema_text(request.schema))
        if system:
            body["system"] = [{"type": "text", "text": text} for text in system]
            self._mark(body["system"], request.cache)
        body["messages"] = _messages(turns)
        if len(turns) > 1:
            self._mark(body["messages"][-1]["content"], request.cache)
        if request.tools:
            body["tools"] = [_tool(as_mapping(tool.get("function"))) for tool in request.tools]
            if request.tool_choice and self.has("tool_choice"):
                body["tool_choice"] = _choice(request.tool_choice)
        return body

    def has(self, part: Part) -> bool:
        """True while the part may be sent."""
        return part not in self.omitted

    def _mark(self, blocks: list[dict[str, Any]], cache: Cache) -> None:
        if self.has("cache_control") and cache in _CACHE:
            blocks[-1] = {**blocks[-1], "cache_control": _CACHE[cache]}

    def after(self, words: str, *, sent: Mapping[str, Any]) -> Form | None:
        """The next form after a refusal of the body `sent`; None when the words are not about form."""
        lowered = words.lower()
        if not is_refused_form(lowered):
            return None
        output = as_mapping(sent.get("output_config"))
        present: dict[Part, bool] = {
            "effort": "effort" in output,
            "format": "format" in output,
            "cache_control": "cache_control" in json.dumps(sent.get("system", "")) or "messages" in sent,
            "tool_choice": "tool_choice" in sent,
        }
        for part, there in present.items():
            if there and self.has(part) and any(names_field(lowered, word) for word in _WORDS[part]):
                return replace(self, omitted=self.omitted | {part})
        return None


def _split(messages: Iterable[Message]) -> tuple[list[str], list[Message]]:
    """(system texts that are not blank, the other messages)."""
    system: list[str] = []
    turns: list[Message] = []
    for message in messages:
        if message.role != "system":
            turns.append(message)
        elif (text := _plain(message)).strip():
            system.append(text)
    return system, turns


def _messages(turns: Iterable[Message]) -> list[dict[str, Any]]:
    """Turns in alternation: neighbours of one role become one message, as the API would read them anyway."""
    out: list[dict[str, Any]] = []
    for message in turns:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        else:
            out.append({"role": role, "content": blocks})
    for message in out:
        if not message["content"]:
            message["content"] = [{"type": "text", "text": _NOTHING}]
    return out or [{"role": "user", "content": [{"type": "text", "text": _NOTHING}]}]


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        text = _plain(message)
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        return [{**result, "content": text} if text else result]
    parts: Iterable[Mapping[str, Any]]
    parts = ({"type": "text", "text": message.content},) if isinstance(message.content, str) else message.content
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if part.get("type") == "image_url":
            blocks.append({"type": "image", "source": _image(str(as_mapping(part.get("image_url")).get("url") or ""))})
        elif str(part.get("text") or "").strip():
            blocks.append({"type": "text", "text": str(part["text"])})
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call.arguments)})
    return blocks


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        return as_mapping(json.loads(text, parse_constant=no_constant, parse_float=finite))
    except (ValueError, RecursionError):
        return {}


def _image(url: str) -> dict[str, str]:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": found["type"], "data": found["data"]}


def _plain(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(str(part.get("text") or "") for part in message.content)


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": function.get("name"),
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
    }
    if function.get("description"):
        tool["description"] = function["description"]
    return tool


def _choice(choice: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(choice, str):
        return {"type": {"required": "any"}.get(choice, choice)}
    return {"type": "tool", "name": as_mapping(choice.get("function")).get("name")}


def read_message(text: str, where: str) -> ChatReply:
    """The reply in a 200's body. Raises `TransientModelError` for anything that is not one."""
    found = as_mapping(parse_body(text, where))
    content: Any = found.get("content")
    if (told := reported_failure(found)) is not None:
        raise inner_error(told, where)
    if not isinstance(content, list):
        raise TransientModelError(f"{where} answered without content: {shorten(text, 300)}", cause="foreign")
    said: list[str] = []
    calls: list[ToolCall] = []
    for block in (as_mapping(entry) for entry in cast("list[Any]", content)):
        if block.get("type") == "text":
            said.append(str(block.get("text") or ""))
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            calls.append(ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), arguments))
    finish, ended_with = read_finish(found.get("stop_reason"), text, where)
    model = str(found.get("model") or "")
    return ChatReply("".join(said), finish, _usage(found.get("usage")), model, tuple(calls), ended_with)


def _usage(raw: Any) -> Usage:
    """The API counts fresh, written and read prompt tokens apart; ours are all prompt tokens, and those read."""
    usage = as_mapping(raw)
    fresh, read = whole(usage.get("input_tokens")), whole(usage.get("cache_read_input_tokens"))
    written = whole(usage.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        completion_tokens=whole(usage.get("output_tokens")),
        cached_tokens=read,
        reasoning_tokens=whole(as_mapping(usage.get("output_tokens_details")).get("thinking_tokens")),
        written_tokens=written,
        hour_tokens=whole(as_mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )
