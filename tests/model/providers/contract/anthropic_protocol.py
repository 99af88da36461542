"""The Messages API, every field and every rule about turns checked."""

from __future__ import annotations

import base64
import functools
import importlib
from typing import Any

from aiohttp import web

from .server import KEY, MODEL, Protocol, Refused, Say, Seen, only

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
          408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
          529: "overloaded_error"}  # fmt: skip


@functools.cache
def declared(name: str, module: str = "types") -> frozenset[str]:
    """The fields of one class. What the installed SDK declares is the API's own schema: nothing else is accepted.
    Its import takes seconds, so it is left to the first server: this module is read at every collection."""
    return frozenset(getattr(importlib.import_module(f"anthropic.{module}"), name).__annotations__)


class MessagesProtocol(Protocol):
    """Anthropic."""

    def __init__(self, refuse: frozenset[str] = frozenset()) -> None:
        super().__init__(refuse)
        self._version = importlib.import_module("anthropic._constants").ANTHROPIC_API_VERSION

    def accept(self, request: web.Request, body: Any) -> Seen:
        if request.method != "POST" or request.path != "/v1/messages":
            raise Refused(404, "Not Found")
        if request.headers.get("Authorization") != f"Bearer {KEY}" or "x-api-key" in request.headers:
            raise Refused(401, "invalid API key")
        if request.headers.get("anthropic-version") != self._version:
            raise Refused(400, "anthropic-version: header is required")
        for name in body:
            if name != "stream" and name not in declared("MessageCreateParamsBase", "types.message_create_params"):
                raise Refused(400, f"{name}: Extra inputs are not permitted")
        for name in self.refuse & set(body.get("output_config", ())):
            raise Refused(400, f"output_config.{name}: this model does not support the {name} parameter.")
        if body["model"] != MODEL:
            raise Refused(404, f"model: {body['model']}")
        self._marks = 0
        seen = Seen(cap=body["max_tokens"], temperature=body.get("temperature"))
        seen.system = "".join(self._text(block) for block in body.get("system", ()))
        output = body.get("output_config", {})
        only(output, {"effort", "format"}, "output_config.")
        seen.effort = output.get("effort", "")
        if "format" in output:
            only(output["format"], {"type", "schema"}, "output_config.format.")
            seen.schema = output["format"]["schema"]
        for tool in body.get("tools", ()):
            only(tool, declared("ToolParam"), "tools.")
            seen.tools.append(tool["name"])
        seen.tool_choice = body.get("tool_choice")
        self._turns(body["messages"], seen)
        if self._marks > 4:
            raise Refused(400, "A maximum of 4 blocks with cache_control may be provided")
        return seen

    def _turns(self, messages: Any, seen: Seen) -> None:
        if not messages or messages[0]["role"] != "user":
            raise Refused(400, 'messages: first message must use the "user" role')
        open_calls: set[str] = set()
        for message in messages:
            only(message, {"role", "content"}, "messages.")
            if message["role"] not in ("user", "assistant") or not message["content"]:
                raise Refused(400, "messages: all messages must have non-empty content")
            answered = {b.get("tool_use_id") for b in message["content"] if b["type"] == "tool_result"}
            if answered != open_calls:
                raise Refused(400, "messages: `tool_use` ids were found without `tool_result` blocks immediately after")
            open_calls = {b["id"] for b in message["content"] if b["type"] == "tool_use"}
            seen.turns.append((message["role"], "".join(self._block(block, seen) for block in message["content"])))
        if open_calls:
            raise Refused(400, "messages: the last message asks for tools")

    def _block(self, block: Any, seen: Seen) -> str:
        kind = block["type"]
        if kind == "text":
            return self._text(block)
        self._marks += "cache_control" in block
        if kind == "image":
            only(block, declared("ImageBlockParam"), "image.")
            source = block["source"]
            if source["type"] == "base64":
                base64.b64decode(source["data"], validate=True)
                seen.images.append(f"data:{source['media_type']};base64,{source['data']}")
            else:
                seen.images.append(source["url"])
        elif kind == "tool_result":
            only(block, declared("ToolResultBlockParam"), "tool_result.")
            seen.tool_results[block["tool_use_id"]] = block.get("content", "")
        elif kind == "tool_use":
            only(block, declared("ToolUseBlockParam"), "tool_use.")
            if not isinstance(block["input"], dict):
                raise Refused(400, "tool_use.input: Input should be a valid dictionary")
        else:
            raise Refused(400, f"messages: unexpected block {kind}")
        return ""

    def _text(self, block: Any) -> str:
        only(block, declared("TextBlockParam"), "text.")
        if not block["text"].strip():
            raise Refused(400, "messages: text content blocks must contain non-whitespace text")
        if "cache_control" in block:
            self._marks += 1
            if block["cache_control"] not in ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}):
                raise Refused(400, "cache_control: unexpected")
        return block["text"]

    def reply(self, say: Say, cap: int) -> Any:
        reason = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}.get(say.finish, say.finish)
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "", "signature": "s"}]
        if say.text or say.refusal:
            content.append({"type": "text", "text": say.text or say.refusal})
        content += [{"type": "tool_use", "id": call, "name": name, "input": args} for call, name, args in say.calls]
        body: dict[str, Any] = {"id": "m1", "type": "message", "role": "assistant", "model": f"{MODEL}-served",
                                "content": content, "stop_reason": reason, "stop_sequence": None}  # fmt: skip
        if say.usage is not None:
            prompt, completion, cached, reasoning = say.usage
            written = (prompt - cached) // 2
            body["usage"] = {
                "input_tokens": prompt - cached - written, "cache_creation_input_tokens": written,
                "cache_read_input_tokens": cached, "output_tokens": completion,
                "output_tokens_details": {"thinking_tokens": reasoning},
            }  # fmt: skip
        return body

    def error(self, status: int, words: str, kind: str = "") -> Any:
        return {"type": "error", "error": {"type": kind or _KINDS.get(status, "api_error"), "message": words}}
