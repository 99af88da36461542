"""Chat through agent programs: claude_chat's cli route, copilot_chat, codex_exec as optimizer, on the real binaries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent_model_server import AgentModelServer, Fail, Hang, Say
from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.model.providers import claude_chat, cli_chat
from skillopt.model.providers.cli_question import asked, with_tool_calls
from skillopt.model.types import Backend, ChatReply, ChatRequest, Message, ToolCall
from tests.agents.real import PLANTED, program, search_path

CREATE: dict[str, tuple[str, Callable[[Mapping[str, Any]], Backend]]] = {
    "claude_chat": ("claude_code_exec", claude_chat.create),
    "codex_exec": ("codex_exec", cli_chat.create_codex),
    "copilot_chat": ("copilot_exec", cli_chat.create_copilot),
}
backends = pytest.mark.parametrize("name", CREATE)
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Backend]:
    """A backend on the real program, in front of a scripted server."""

    def run(name: str, url: str, **settings: Any) -> Backend:
        backend, create = CREATE[name]
        found = program(backend)
        home = tmp_path / "home"
        (home / ".claude").mkdir(parents=True, exist_ok=True)
        (home / ".claude" / "CLAUDE.md").write_text("The user's own rule: answer in French.")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("PATH", search_path())
        for variable, secret in PLANTED.items():
            monkeypatch.setenv(variable, secret)
        return create({"model": "scripted-model", "base_url": url, "api_key": "sk-endpoint-42424242",
                       "options": {"path": found}, **settings})  # fmt: skip

    return run


def question(system: str = "You are a calculator. Reply with only the number.", **changes: Any) -> ChatRequest:
    """The smoke test of the backends."""
    return ChatRequest((Message("system", system), Message("user", "What is 21 + 21?")), stage="analyst", **changes)


@pytest.mark.slow
@backends
async def test_a_plain_question_has_no_tools_and_nothing_of_the_user(name: str, make: Callable[..., Backend]) -> None:
    with AgentModelServer((Say("42"),), api_key="sk-endpoint") as server:
        reply = await make(name, server.url).complete(question(system="You are a calculator. ünïcode 🎉"))
    assert reply.text == "42"
    assert reply.usage.prompt_tokens == 100
    assert reply.usage.cached_tokens == 40
    body = server.requests[-1]
    sent = json.dumps(body, ensure_ascii=False)
    assert "You are a calculator. ünïcode 🎉" in sent
    assert "What is 21 + 21?" in sent
    assert "French" not in sent
    assert not any(secret in sent + json.dumps(server.headers) for secret in PLANTED.values())
    tools = {str(t.get("name") or t.get("function", {}).get("name")) for t in body.get("tools", [])}
    assert not tools & {"Bash", "bash", "exec_command", "shell", "Write", "Edit", "create", "edit"}


@pytest.mark.slow
@backends
async def test_a_long_prompt_goes_through(name: str, make: Callable[..., Backend]) -> None:
    request = question(system="x " * 60_000)
    with AgentModelServer((Say("42"),)) as server:
        reply = await make(name, server.url).complete(request)
    assert reply.text == "42"
    assert "x " * 60_000 in json.dumps(server.requests[-1])


@pytest.mark.slow
@backends
async def test_faults_are_errors_of_their_kind(name: str, make: Callable[..., Backend]) -> None:
    with AgentModelServer((Say("42"),), api_key="sk-right") as server:
        with pytest.raises(FatalModelError) as caught:
            await make(name, server.url).complete(question())
        assert caught.value.cause == "key"
        assert "sk-endpoint-42424242" not in str(caught.value)
    with AgentModelServer((Fail(404, "model: scripted-model not found"),)) as server, pytest.raises(FatalModelError):
        await make(name, server.url).complete(question())
    with AgentModelServer((Hang(),)) as server, pytest.raises(TransientModelError, match="no answer within"):
        await make(name, server.url, timeout_seconds=3).complete(question())


@backends
async def test_a_missing_program_is_told_with_its_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    backend = CREATE[name][1]({"model": "m", "options": {}})
    with pytest.raises(FatalModelError, match="file not found") as caught:
        await backend.complete(question())
    assert "npm install" in caught.value.hint


@pytest.mark.slow
async def test_claude_is_given_the_schema_and_its_structured_answer_is_taken(make: Callable[..., Backend]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with AgentModelServer((Say('{"n": 42}'),)) as server:
        reply = await make("claude_chat", server.url).complete(question(schema=schema))
    tools = [t for t in server.requests[0]["tools"] if t["name"] == "StructuredOutput"]
    assert tools[0]["input_schema"]["properties"] == schema["properties"]
    assert json.loads(reply.text) == {"n": 42}


def test_several_messages_images_and_tools_become_one_question() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    request = ChatRequest(
        (
            Message("system", "Be good."),
            Message("user", ({"type": "text", "text": "Look."}, image)),
            Message("assistant", "", tool_calls=(ToolCall("1", "look", "{}"),)),
            Message("tool", "a cat", tool_call_id="1"),
        ),
        stage="x",
        tools=(TOOL,),
        tool_choice="required",
    )
    made = asked(request)
    assert made.images == {"image_01.png": b"hi"}
    assert "<user>\nLook.\n</user>" in made.prompt
    assert "[called look with {}]" in made.prompt
    assert "<tool>\na cat\n</tool>" in made.prompt
    assert "image_01.png" in made.prompt
    assert '"name": "look"' in made.instructions
    assert "at least one" in made.instructions
    assert made.schema is not None
    assert asked(question()).prompt == "What is 21 + 21?"


@pytest.mark.parametrize(
    ("text", "calls", "content"),
    [
        ('{"content": "", "tool_calls": [{"name": "look", "arguments": {"a": 1}}]}', [("look", '{"a": 1}')], ""),
        ('```json\n{"content": "hm", "tool_calls": [{"name": "look"}]}\n```', [("look", "{}")], "hm"),
        ('{"content": "done", "tool_calls": []}', [], "done"),
        ("plain text", [], "plain text"),
        ("[1]", [], "[1]"),
        ('{"other": 1}', [], '{"other": 1}'),
        ('{"content": null, "tool_calls": [5, {"x": 1}]}', [], ""),
    ],
)
def test_tool_calls_are_read_from_the_reply(text: str, calls: list[tuple[str, str]], content: str) -> None:
    reply = with_tool_calls(ChatReply(text))
    assert [(c.name, c.arguments) for c in reply.tool_calls] == calls
    assert reply.text == content
    assert reply.finish == ("tool_calls" if calls else "stop")
