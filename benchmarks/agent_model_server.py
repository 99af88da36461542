"""A scripted model server for agent CLIs: three protocols, one script, loopback only.

    POST …/v1/responses          Codex
    POST …/v1/messages           Claude Code
    POST …/v1/chat/completions   Copilot and whoever speaks OpenAI's chat

A `Script` is a list of steps: the n-th answers a request that has n turns of the assistant behind it, so any number of
sessions run at once and the server remembers nothing of them. A step is a tool call, described by what it should do and
spelled with whatever tools the client offers, or the final text, which may be computed from the request: so an answer
can depend on whether the skill was read. Requests without tools while a call is due are the client's own side
questions; they get a short text. Everything is streamed, as the clients ask.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]

SHELLS = {"exec_command": "cmd", "shell_command": "command", "Bash": "command", "bash": "command",
          "run_shell_command": "command"}  # fmt: skip
SKILL_TOOLS = ("Skill", "skill")
_FAULTS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


@dataclass(frozen=True)
class Shell:
    """Run a command."""

    command: str


@dataclass(frozen=True)
class ReadSkill:
    """Load a skill with the client's own tool, or read its file where there is none."""

    name: str
    folder: str = ".agents/skills"


@dataclass(frozen=True)
class Say:
    """The last message: a text, or a function of the request's whole text."""

    text: str | Callable[[str], str]


@dataclass(frozen=True)
class Fail:
    """An HTTP error instead of an answer; `times` None fails always, else the next step follows afterwards."""

    status: int
    message: str = "scripted failure"
    times: int | None = None
    then: Say = field(default_factory=lambda: Say("recovered"))


@dataclass(frozen=True)
class Hang:
    """Accept the request and never answer (until the server stops)."""


Step = Shell | ReadSkill | Say | Fail | Hang
Script = Sequence[Step]


@dataclass(frozen=True)
class Usage:
    """Tokens reported for each answer: input with cached, output with reasoning."""

    input: int = 100
    output: int = 10
    cached: int = 40


@dataclass(frozen=True)
class Answer:
    """What one request gets: a text or one tool call."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class AgentModelServer:
    """Context manager. `scripts` maps a word of the prompt to its script; the key "" is the default."""

    def __init__(
        self, scripts: Mapping[str, Script] | Script, *, usage: Usage | None = None, api_key: str = ""
    ) -> None:
        self.scripts = scripts if isinstance(scripts, Mapping) else {"": scripts}
        self.usage = usage or Usage()
        self.api_key = api_key
        self.requests: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self.failed = 0
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Base URL with /v1."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> AgentModelServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.split("?")[0]
                if path.endswith("/count_tokens"):
                    self._json(200, {"input_tokens": owner.usage.input})
                    return
                protocol = next((p for tail, p in PROTOCOLS.items() if path.endswith(tail)), None)
                if protocol is None:
                    self._json(404, {"error": {"message": f"no such path: {path}"}})
                    return
                body: Body = json.loads(raw)
                owner.note(body, dict(self.headers))
                if owner.api_key and owner.api_key not in " ".join(self.headers.values()):
                    self._fail(401, "Incorrect API key provided")
                    return
                step = owner.step_for(body, protocol)
                if isinstance(step, Hang):
                    owner.wait_for_end()
                    return
                if isinstance(step, Fail):
                    self._fail(step.status, step.message)
                    return
                self._stream(protocol.events(owner, protocol.answer(step, body), body))

            def _fail(self, status: int, message: str) -> None:
                kind = _FAULTS.get(status, "api_error" if status >= 500 else "invalid_request_error")
                self._json(status, {"type": "error", "error": {"type": kind, "message": message}})

            def _json(self, status: int, value: Any) -> None:
                content = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _stream(self, events: Iterator[tuple[str, Any]]) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for name, data in events:
                    head = f"event: {name}\n" if name else ""
                    content = data if isinstance(data, str) else json.dumps(data)
                    self.wfile.write(f"{head}data: {content}\n\n".encode())
                self.wfile.flush()
                self.close_connection = True

        return Handler

    def note(self, body: Body, headers: Mapping[str, str]) -> None:
        """Remember a request for the test to read."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)

    def step_for(self, body: Body, protocol: Protocol) -> Step:
        """The step that answers a request."""
        prompt = protocol.prompt(body)
        words = [w for w in self.scripts if w and w in prompt]
        script = self.scripts[words[0] if words else ""]
        step = script[min(protocol.turns(body), len(script) - 1)]
        if isinstance(step, Fail) and step.times is not None:
            with self._lock:
                self.failed += 1
                return step if self.failed <= step.times else step.then
        return step

    def wait_for_end(self) -> None:
        """Hold a request until the server stops."""
        self._stopping.wait(120)

    def next_id(self, prefix: str) -> str:
        """A fresh identifier."""
        return f"{prefix}_{next(self._ids):06d}"


def whole_text(value: Any) -> str:
    """Every string of a request, joined: where a text was put does not matter."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(whole_text(v) for v in value.values())
    return "\n".join(whole_text(v) for v in value) if isinstance(value, list) else ""


class Protocol:
    """How one API names tools, counts turns and streams an answer."""

    def tools(self, body: Body) -> dict[str, Any]:
        """Tool names that are offered."""
        return {str(t.get("name") or t.get("function", {}).get("name")): t for t in body.get("tools") or []}

    def turns(self, body: Body) -> int:
        """Turns of the assistant so far."""
        return sum(m.get("role") == "assistant" for m in body.get("messages", []))

    def prompt(self, body: Body) -> str:
        """What the user said."""
        return whole_text([m.get("content") for m in body.get("messages", []) if m.get("role") == "user"])

    def answer(self, step: Step, body: Body) -> Answer:
        """Spell a step with the tools of the client."""
        if isinstance(step, Say):
            return Answer(step.text if isinstance(step.text, str) else step.text(whole_text(body)))
        offered = self.tools(body)
        if not offered:
            return Answer("ok")
        if isinstance(step, ReadSkill):
            own = next((name for name in SKILL_TOOLS if name in offered), None)
            if own:
                return Answer(tool=own, arguments={"skill": step.name})
            step = Shell(f"cat {step.folder}/{step.name}/SKILL.md")
        assert isinstance(step, Shell)
        shell = next(name for name in SHELLS if name in offered)
        described = "description" in whole_text(list(_properties(offered[shell])))
        more = {"description": "scripted"} if described else {}
        return Answer(tool=shell, arguments={SHELLS[shell]: step.command, **more})

    def events(self, owner: AgentModelServer, answer: Answer, body: Body) -> Iterator[tuple[str, Any]]:
        """The stream."""
        raise NotImplementedError


def _properties(tool: Mapping[str, Any]) -> Iterator[str]:
    schema = tool.get("input_schema") or tool.get("parameters") or tool.get("function", {}).get("parameters") or {}
    yield from schema.get("properties", {})


class Responses(Protocol):
    """OpenAI's Responses API, as Codex uses it."""

    def turns(self, body: Body) -> int:
        kinds = ("function_call", "custom_tool_call")
        items = body.get("input", [])
        return sum(i.get("type") in kinds or i.get("role") == "assistant" for i in items)

    def prompt(self, body: Body) -> str:
        return whole_text([i.get("content") for i in body.get("input", []) if i.get("role") == "user"])

    def events(self, owner: AgentModelServer, answer: Answer, body: Body) -> Iterator[tuple[str, Any]]:
        response = {"id": owner.next_id("resp"), "object": "response", "model": body.get("model"), "output": []}
        if answer.tool:
            item: Body = {"type": "function_call", "id": owner.next_id("fc"), "call_id": owner.next_id("call"),
                          "name": answer.tool, "arguments": json.dumps(answer.arguments),
                          "status": "completed"}  # fmt: skip
        else:
            content = [{"type": "output_text", "text": answer.text, "annotations": []}]
            item = {"type": "message", "id": owner.next_id("msg"), "role": "assistant", "content": content,
                    "status": "completed"}  # fmt: skip
        usage = owner.usage
        counted = {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        }
        yield "response.created", {"type": "response.created", "response": {**response, "status": "in_progress"}}
        yield "response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item}
        yield "response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}
        done = {**response, "status": "completed", "output": [item], "usage": counted}
        yield "response.completed", {"type": "response.completed", "response": done}


class Messages(Protocol):
    """Anthropic's Messages API, as Claude Code uses it."""

    def events(self, owner: AgentModelServer, answer: Answer, body: Body) -> Iterator[tuple[str, Any]]:
        usage = owner.usage
        fresh = {"input_tokens": usage.input - usage.cached, "cache_read_input_tokens": usage.cached,
                 "cache_creation_input_tokens": 0, "output_tokens": 1}  # fmt: skip
        message = {"id": owner.next_id("msg"), "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": fresh}  # fmt: skip
        yield "message_start", {"type": "message_start", "message": message}
        if answer.tool:
            block: Body = {"type": "tool_use", "id": owner.next_id("toolu"), "name": answer.tool, "input": {}}
            delta: Body = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        stop = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": stop, "usage": {"output_tokens": usage.output}}
        yield "message_stop", {"type": "message_stop"}


class Chat(Protocol):
    """OpenAI's Chat Completions, as Copilot uses it."""

    def events(self, owner: AgentModelServer, answer: Answer, body: Body) -> Iterator[tuple[str, Any]]:
        usage = owner.usage
        head = {"id": owner.next_id("chatcmpl"), "object": "chat.completion.chunk", "created": 0,
                "model": body.get("model")}  # fmt: skip

        def chunk(delta: Body, finish: str | None = None) -> tuple[str, Any]:
            return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        if answer.tool:
            function = {"name": answer.tool, "arguments": json.dumps(answer.arguments)}
            call = {"index": 0, "id": owner.next_id("call"), "type": "function", "function": function}
            yield chunk({"role": "assistant", "content": None, "tool_calls": [call]})
            yield chunk({}, "tool_calls")
        else:
            yield chunk({"role": "assistant", "content": answer.text})
            yield chunk({}, "stop")
        counted = {"prompt_tokens": usage.input, "completion_tokens": usage.output,
                   "total_tokens": usage.input + usage.output,
                   "prompt_tokens_details": {"cached_tokens": usage.cached}}  # fmt: skip
        yield "", {**head, "choices": [], "usage": counted}
        yield "", "[DONE]"


PROTOCOLS: Mapping[str, Protocol] = {
    "/responses": Responses(),
    "/messages": Messages(),
    "/chat/completions": Chat(),
}
