"""The Responses API of OpenAI and Azure: the same question and answer in another shape.

Some models are served by it only (`needs_responses`). Nothing is stored at the provider (`store: false`); images and
tool calls go through whole. `seed` has no counterpart there and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from skillopt.core.errors import TransientModelError
from skillopt.core.replies.ending import Finish
from skillopt.core.replies.reported_failure import reported_failure
from skillopt.core.shorten import shorten
from skillopt.model.providers.wire.reply import as_mapping, inner_error, parse_body, read_finish, read_usage
from skillopt.model.types import ChatReply, ChatRequest, Message, ToolCall

PATH = "/responses"
_FAMILIES = ("gpt-5-codex", "gpt-5.1-codex", "gpt-5.2-codex", "gpt-5.3-codex", "codex-mini", "gpt-5.4-pro")
_LEAST_CAP = 16
"""The API refuses less."""
_RENAMED = ("seed", "reasoning_effort", "tool_choice")


def needs_responses(model: str) -> bool:
    """True for models of the families that Chat Completions does not serve."""
    return any(model == family or model.startswith(f"{family}-") for family in _FAMILIES)


def body(request: ChatRequest, *, model: str, cap: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON body. `options` are Chat Completions' names and values that are to be sent."""
    out: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.messages for item in _items(message)],
        "max_output_tokens": max(cap, _LEAST_CAP),
        "store": False,
        **{name: value for name, value in options.items() if name not in _RENAMED},
    }
    if "reasoning_effort" in options:
        out["reasoning"] = {"effort": options["reasoning_effort"]}
    if request.schema is not None:
        form = {"type": "json_schema", "name": request.schema_name, "strict": True, "schema": dict(request.schema)}
        out["text"] = {"format": form}
    if request.tools:
        out["tools"] = [{"type": "function", **as_mapping(tool.get("function"))} for tool in request.tools]
        if "tool_choice" in options:
            choice = options["tool_choice"]
            function = as_mapping(choice).get("function")
            out["tool_choice"] = {"type": "function", **as_mapping(function)} if function else choice
    return out


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": _plain(message)}]
    content: list[dict[str, Any]] = []
    if isinstance(message.content, str):
        parts: tuple[Mapping[str, Any], ...] = ({"type": "text", "text": message.content},) if message.content else ()
    else:
        parts = message.content
    for part in parts:
        if part.get("type") == "image_url":
            image = as_mapping(part.get("image_url"))
            content.append(
                {"type": "input_image", "image_url": image.get("url"), "detail": image.get("detail", "auto")}
            )
        else:
            kind = "output_text" if message.role == "assistant" else "input_text"
            content.append({"type": kind, "text": str(part.get("text") or "")})
    items: list[dict[str, Any]] = []
    if content or not message.tool_calls:
        items.append({"role": message.role, "content": content})
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return items


def _plain(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(str(part.get("text") or "") for part in message.content)


def read_response(text: str, where: str) -> ChatReply:
    """The reply in a 200's body. Raises `TransientModelError` for anything that is not one."""
    raw = parse_body(text, where)
    found = as_mapping(raw)
    output: Any = found.get("output")
    status = found.get("status")
    if (told := reported_failure({**found, "status": status if status != "incomplete" else None})) is not None:
        raise inner_error(told, where)
    if status not in (None, "completed", "incomplete") or not isinstance(output, list):
        raise TransientModelError(f"{where} answered without output: {shorten(text, 300)}")
    said: list[str] = []
    refused: list[str] = []
    calls: list[ToolCall] = []
    for item in (as_mapping(entry) for entry in cast("list[Any]", output)):
        if item.get("type") == "function_call" and item.get("name"):
            calls.append(
                ToolCall(str(item.get("call_id") or ""), str(item["name"]), str(item.get("arguments") or "{}"))
            )
        content: Any = item.get("content")
        parts = cast("list[Any]", content) if item.get("type") == "message" and isinstance(content, list) else []
        for part in map(as_mapping, parts):
            if part.get("type") == "refusal":
                refused.append(str(part.get("refusal") or ""))
            elif part.get("type") == "output_text":
                said.append(str(part.get("text") or ""))
    finish, ended_with = _finish(found, bool(refused), bool(calls), text, where)
    reply = "".join(said) or "".join(refused)
    model = str(found.get("model") or "")
    return ChatReply(reply, finish, read_usage(found.get("usage")), model, tuple(calls), ended_with)


def _finish(found: Mapping[str, Any], refused: bool, called: bool, text: str, where: str) -> tuple[Finish, str]:
    cut = any(as_mapping(item).get("status") == "incomplete" for item in cast("list[Any]", found.get("output")))
    if found.get("status") == "incomplete" or cut or as_mapping(found.get("incomplete_details")).get("reason"):
        reason = as_mapping(found.get("incomplete_details")).get("reason") or "max_output_tokens"
        finish, word = read_finish(reason, text, where)
        return ("unknown", shorten(str(reason), 60)) if finish == "stop" else (finish, word)
    if refused:
        return "refusal", ""
    return ("tool_calls" if called else "stop"), ""
