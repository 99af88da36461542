"""Chat Completions as OpenAI, Azure, vLLM and MiniMax serve it, and the Responses API: every field checked."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from .server import KEY, MODEL, Protocol, Refused, Say, Seen, only

_BODY = frozenset(
    [
        "model",
        "messages",
        "max_completion_tokens",
        "max_tokens",
        "temperature",
        "top_p",
        "seed",
        "reasoning_effort",
        "response_format",
        "tools",
        "tool_choice",
        "stream",
        "n",
        "stop",
        "store",
        "user",
    ]
)


class ChatProtocol(Protocol):
    """OpenAI's own. Subclasses differ in path, sign-in and fields."""

    path = "/v1/chat/completions"
    allowed = _BODY
    key: str | None = KEY

    def accept(self, request: web.Request, body: Any) -> Seen:
        self.check_place(request)
        self.check_key(request)
        if request.content_type != "application/json":
            raise Refused(415, "Unsupported Media Type")
        self.check_fields(body)
        self.check_model(body)
        seen = Seen(cap=body.get("max_completion_tokens", body.get("max_tokens", 0)))
        called: set[str] = set()
        for message in body["messages"]:
            self._read_message(message, seen, called)
        if called - set(seen.tool_results):
            raise Refused(400, "An assistant message with 'tool_calls' must be followed by tool messages")
        self._read_options(body, seen)
        return seen

    def check_place(self, request: web.Request) -> None:
        if request.method != "POST" or request.path != self.path:
            raise Refused(404, f"Invalid URL ({request.method} {request.path})")

    def check_key(self, request: web.Request) -> None:
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            raise Refused(401, "Incorrect API key provided", "invalid_api_key")

    def check_fields(self, body: Any) -> None:
        only(body, self.allowed)
        for name in self.refuse & set(body):
            raise Refused(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        if "max_tokens" in body and "max_completion_tokens" in body:
            raise Refused(400, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")

    def check_model(self, body: Any) -> None:
        if body["model"] != MODEL:
            raise Refused(404, f"The model `{body['model']}` does not exist", "model_not_found")

    def _read_message(self, message: Any, seen: Seen, called: set[str]) -> None:
        only(message, {"role", "content", "tool_calls", "tool_call_id", "name"}, "messages.")
        role, content = message["role"], message.get("content")
        if role == "tool":
            if message.get("tool_call_id") not in called:
                raise Refused(400, "a message with role 'tool' must answer a preceding 'tool_calls'")
            seen.tool_results[message["tool_call_id"]] = str(content)
            return
        if role not in ("system", "developer", "user", "assistant"):
            raise Refused(400, f"Invalid value: '{role}'")
        text = content or ""
        if isinstance(content, list):
            text = "".join(self._read_part(part, seen) for part in content)
        for call in message.get("tool_calls", ()):
            only(call, {"id", "type", "function"}, "tool_calls.")
            json.loads(call["function"]["arguments"])
            called.add(call["id"])
        if role in ("system", "developer"):
            seen.system += text
        else:
            seen.turns.append((role, text))

    @staticmethod
    def _read_part(part: Any, seen: Seen) -> str:
        if part["type"] == "text":
            only(part, {"type", "text"}, "content.")
            return part["text"]
        if part["type"] != "image_url":
            raise Refused(400, f"Invalid value: '{part['type']}'")
        only(part, {"type", "image_url"}, "content.")
        only(part["image_url"], {"url", "detail"}, "image_url.")
        seen.images.append(part["image_url"]["url"])
        return ""

    def _read_options(self, body: Any, seen: Seen) -> None:
        seen.effort, seen.temperature = body.get("reasoning_effort", ""), body.get("temperature")
        seen.tool_choice = body.get("tool_choice")
        if seen.tool_choice is not None and not body.get("tools"):
            raise Refused(400, "'tool_choice' is only allowed when 'tools' are specified")
        for tool in body.get("tools", ()):
            only(tool, {"type", "function"}, "tools.")
            only(tool["function"], {"name", "description", "parameters", "strict"}, "function.")
            seen.tools.append(tool["function"]["name"])
        form = body.get("response_format")
        if form and form["type"] == "json_schema":
            only(form["json_schema"], {"name", "strict", "schema", "description"}, "json_schema.")
            seen.schema = form["json_schema"]["schema"]

    def reply(self, say: Say, cap: int) -> Any:
        finish = {"refusal": "content_filter" if not say.refusal else "stop"}.get(say.finish, say.finish)
        message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
        if say.refusal:
            message |= {"content": None, "refusal": say.refusal}
        if say.calls:
            message["tool_calls"] = [
                {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for call, name, arguments in say.calls
            ]
        body = {"id": "c1", "object": "chat.completion", "created": 1, "model": f"{MODEL}-served",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}]}  # fmt: skip
        if say.usage is not None:
            prompt, completion, cached, reasoning = say.usage
            body["usage"] = {
                "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": reasoning},
            }  # fmt: skip
        return body

    def error(self, status: int, words: str, kind: str = "") -> Any:
        return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": kind or None}}


class AzureProtocol(ChatProtocol):
    """A deployment: the version in the query, the key in `api-key`, or a bearer token when `token` is given."""

    version = "2024-12-01-preview"
    token = ""

    def check_place(self, request: web.Request) -> None:
        if request.query.get("api-version") != self.version:
            raise Refused(404, "Resource not found", "404")
        prefix, _, rest = request.path.partition("/openai/deployments/")
        if request.method != "POST" or prefix or not rest.endswith("/chat/completions"):
            raise Refused(404, "Resource not found", "404")
        if rest != f"{MODEL}/chat/completions":
            raise Refused(404, "The API deployment for this resource does not exist", "DeploymentNotFound")

    def check_key(self, request: web.Request) -> None:
        key, bearer = request.headers.get("api-key"), request.headers.get("Authorization")
        good = bearer == f"Bearer {self.token}" and key is None if self.token else key == self.key and bearer is None
        if not good:
            raise Refused(401, "Access denied due to invalid subscription key or wrong API endpoint.", "401")

    def check_model(self, body: Any) -> None:
        """The path has named it."""


class VllmProtocol(ChatProtocol):
    """vLLM or SGLang: the older name of the cap, and the chat template's own arguments."""

    allowed = (_BODY - {"store", "user"}) | {"chat_template_kwargs", "top_k", "min_p"}

    def check_fields(self, body: Any) -> None:
        super().check_fields(body)
        only(body.get("chat_template_kwargs", {}), {"enable_thinking"}, "chat_template_kwargs.")


class MinimaxProtocol(ChatProtocol):
    """MiniMax: no schema, no seed, no effort; thinking is a field of its own."""

    allowed = frozenset(
        [
            "model",
            "messages",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "stream",
            "tools",
            "tool_choice",
            "thinking",
            "reasoning_split",
        ]
    )

    def check_fields(self, body: Any) -> None:
        super().check_fields(body)
        if body.get("thinking", {"type": "adaptive"}) not in ({"type": "adaptive"}, {"type": "disabled"}):
            raise Refused(400, "invalid params, thinking")


class LlamaProtocol(ChatProtocol):
    """The embedded engine's server: no key, and whether a prompt's state may be reused."""

    allowed = _BODY | {"cache_prompt"}
    key = None

    def check_model(self, body: Any) -> None:
        """It serves the one model it was started with."""


class ResponsesProtocol(ChatProtocol):
    """The Responses API: typed items in place of messages."""

    path = "/v1/responses"
    allowed = frozenset(
        [
            "model",
            "input",
            "instructions",
            "max_output_tokens",
            "store",
            "temperature",
            "top_p",
            "reasoning",
            "text",
            "tools",
            "tool_choice",
        ]
    )

    def accept(self, request: web.Request, body: Any) -> Seen:
        self.check_place(request)
        self.check_key(request)
        self.check_fields(body)
        if body.get("store") is not False:
            raise Refused(400, "this test stores nothing")
        if body["max_output_tokens"] < 16:
            raise Refused(400, "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16")
        seen = Seen(cap=body["max_output_tokens"], temperature=body.get("temperature"))
        only(body.get("reasoning", {}), {"effort", "summary"}, "reasoning.")
        seen.effort = body.get("reasoning", {}).get("effort", "")
        called: set[str] = set()
        for item in body["input"]:
            self._read_item(item, seen, called)
        if called - set(seen.tool_results):
            raise Refused(400, "No tool output found for function call")
        for tool in body.get("tools", ()):
            only(tool, {"type", "name", "description", "parameters", "strict"}, "tools.")
            seen.tools.append(tool["name"])
        seen.tool_choice = body.get("tool_choice")
        only(body.get("text", {}), {"format", "verbosity"}, "text.")
        form = body.get("text", {}).get("format", {})
        only(form, {"type", "name", "strict", "schema", "description"}, "text.format.")
        seen.schema = form.get("schema")
        return seen

    def check_fields(self, body: Any) -> None:
        only(body, self.allowed)
        for name in self.refuse & set(body):
            raise Refused(400, f"Unsupported parameter: '{name}' is not supported with this model.")

    def _read_item(self, item: Any, seen: Seen, called: set[str]) -> None:
        kind = item.get("type", "message")
        if kind == "function_call":
            only(item, {"type", "call_id", "name", "arguments", "id", "status"}, "input.")
            called.add(item["call_id"])
        elif kind == "function_call_output":
            only(item, {"type", "call_id", "output"}, "input.")
            seen.tool_results[item["call_id"]] = item["output"]
        else:
            only(item, {"type", "role", "content"}, "input.")
            text = ""
            for part in item["content"]:
                wanted = "output_text" if item["role"] == "assistant" else "input_text"
                if part["type"] == "input_image" and item["role"] == "user":
                    only(part, {"type", "image_url", "detail"}, "content.")
                    seen.images.append(part["image_url"])
                elif part["type"] == wanted:
                    text += part["text"]
                else:
                    raise Refused(400, f"Invalid value: '{part['type']}'")
            if item["role"] in ("system", "developer"):
                seen.system += text
            else:
                seen.turns.append((item["role"], text))

    def reply(self, say: Say, cap: int) -> Any:
        output: list[dict[str, Any]] = [{"type": "reasoning", "id": "r1", "summary": []}]
        content = [{"type": "output_text", "text": say.text, "annotations": []}] if say.text else []
        if say.refusal:
            content = [{"type": "refusal", "refusal": say.refusal}]
        output.append({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content})
        output += [
            {"type": "function_call", "id": f"f-{call}", "call_id": call, "name": name,
             "arguments": json.dumps(arguments)}
            for call, name, arguments in say.calls
        ]  # fmt: skip
        body: dict[str, Any] = {"id": "r", "object": "response", "model": f"{MODEL}-served", "status": "completed",
                                "output": output, "error": None, "incomplete_details": None}  # fmt: skip
        if say.finish == "length" or (say.finish == "refusal" and not say.refusal):
            reason = "max_output_tokens" if say.finish == "length" else "content_filter"
            body |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        if say.usage is not None:
            prompt, completion, cached, reasoning = say.usage
            body["usage"] = {
                "input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion,
                "input_tokens_details": {"cached_tokens": cached},
                "output_tokens_details": {"reasoning_tokens": reasoning},
            }  # fmt: skip
        return body
