"""Records in the shape of each program, written for the tests: one small story told in every format.

The story: the prompt, a thought, the skill read, a command that works, one that fails, the last words. Token counts of
the four calls sum to input 490 (320 of it cached), output 55 (5 of it reasoning).
"""

from __future__ import annotations

import json
from typing import Any

PROMPT = "Count the lines of data.txt as the counting skill says."
ANSWER = "There are 12 lines.\n<answer>12</answer>"
SKILL = "counting"
SKILL_TEXT = "# counting\n\nRevision c0ffee. Use `wc -l`."
CALLS = ((100, 0, 20, 5), (120, 90, 15, 0), (130, 110, 10, 0), (140, 120, 10, 0))


def lines(*records: Any) -> str:
    """JSON lines."""
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def _codex_usage(upto: int) -> dict[str, int]:
    part = CALLS[:upto]
    return {
        "input_tokens": sum(c[0] for c in part),
        "cached_input_tokens": sum(c[1] for c in part),
        "output_tokens": sum(c[2] for c in part),
        "reasoning_output_tokens": sum(c[3] for c in part),
    }


def codex_stream() -> list[dict[str, Any]]:
    """`codex exec --json`."""
    return [
        {"type": "thread.started", "thread_id": "th-1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"type": "reasoning", "text": "I should read it."}},
        {
            "type": "item.completed",
            "item": {
                "type": "command_execution",
                "command": "cat .agents/skills/counting/SKILL.md",
                "aggregated_output": SKILL_TEXT,
                "exit_code": 0,
                "status": "completed",
            },
        },
        {"type": "item.completed", "item": {"type": "agent_message", "text": ANSWER}},
        {"type": "turn.completed", "usage": _codex_usage(4)},
    ]


def codex_rollout(*, exit_head: bool = True, events_only: bool = False, trigger: str = "exec") -> list[dict[str, Any]]:
    """A rollout file. `exit_head` False writes results as older versions do: a JSON object in a string."""

    def item(**payload: Any) -> dict[str, Any]:
        return {"type": "response_item", "payload": payload}

    def event(**payload: Any) -> dict[str, Any]:
        return {"type": "event_msg", "payload": payload}

    def result(call: str, output: str, code: int) -> dict[str, Any]:
        text = f"Chunk ID: 1\nProcess exited with code {code}\nOutput:\n{output}"
        if not exit_head:
            text = json.dumps({"output": output, "metadata": {"exit_code": code}})
        return item(type="function_call_output", call_id=call, output=text)

    def call(name: str, command: str) -> dict[str, Any]:
        return item(type="function_call", name="exec_command", call_id=name, arguments=json.dumps({"cmd": command}))

    def said(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        return item(type="message", role=role, content=[{"type": kind, "text": text}])

    user = {"type": "UserMessage", "content": [{"type": "text", "text": PROMPT}]}
    rows = [
        {"type": "session_meta", "payload": {"id": "th-1", "originator": "codex_exec", "cli_version": "0.171.0"}},
        event(type="task_started", turn_attribution={"turn_trigger": trigger}),
        said("developer", "be good"),
        said("user", "# AGENTS.md instructions for /w\n\nnot a prompt"),
        said("user", PROMPT),
        event(type="user_message", message=PROMPT) if events_only else event(type="item_completed", item=user),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "I should read it."}]),
        call("c1", "cat .agents/skills/counting/SKILL.md"),
        result("c1", SKILL_TEXT, 0),
        event(type="token_count", info={"total_token_usage": _codex_usage(1)}),
        call("c2", "touch /opt/x"),
        result("c2", "touch: cannot touch '/opt/x': Read-only file system", 1),
        said("assistant", ANSWER),
        event(type="agent_message", message=ANSWER) if events_only else event(type="a_new_kind", x=1),
        event(type="token_count", info={"total_token_usage": _codex_usage(4)}),
    ]
    if events_only:
        rows = [r for r in rows if r["payload"].get("type") not in ("message",)]
    return rows


def claude(*, session: bool, version: str = "2.1.332") -> list[dict[str, Any]]:
    """stream-json, or the session file. One reply is two records with one message id."""

    def assistant(message: str, call: int, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
        fresh, cached, output, _ = CALLS[call]
        usage = {"input_tokens": fresh - cached, "cache_read_input_tokens": cached, "output_tokens": output}
        if not session:
            usage["output_tokens"] = 1  # the stream's start
        return [
            {"type": "assistant", "sessionId": "s-1", "message": {"id": message, "content": [b], "usage": usage}}
            for b in blocks
        ]

    def tool(name: str, id_: str, **arguments: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": id_, "name": name, "input": arguments}

    def result(id_: str, text: str, *, error: bool = False) -> dict[str, Any]:
        content = [{"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": error}]
        return {"type": "user", "message": {"role": "user", "content": content}}

    body = {"type": "user", "message": {"content": [{"type": "text", "text": f"Base directory: x\n\n{SKILL_TEXT}"}]}}
    body |= {"isMeta": True} if session else {"isSynthetic": True}
    prompt = {"type": "user", "promptSource": "sdk", "version": version, "sessionId": "s-1"}
    head = prompt | {"message": {"role": "user", "content": PROMPT}}
    start = {"type": "system", "subtype": "init", "claude_code_version": version, "session_id": "s-1"}
    rows = [
        head if session else start,
        *assistant("m1", 0, {"type": "thinking", "thinking": "Hm."}, tool("Skill", "c1", skill=SKILL)),
        result("c1", f"Launching skill: {SKILL}"),
        body,
        *assistant("m2", 1, tool("Bash", "c2", command="wc -l data.txt")),
        result("c2", "12 data.txt"),
        *assistant("m3", 2, tool("Bash", "c3", command="cat nope")),
        result("c3", "Exit code 1\ncat: nope: No such file", error=True),
        *assistant("m4", 3, {"type": "text", "text": ANSWER}),
    ]
    return rows if session else [*rows, claude_result()]


def claude_result(**changes: Any) -> dict[str, Any]:
    """The last record of stream-json."""
    models = {"m": {"inputTokens": 170, "cacheReadInputTokens": 320, "outputTokens": 55, "thinkingTokens": 5}}
    usage = {"input_tokens": 170, "cache_read_input_tokens": 320, "output_tokens": 55}
    whole = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": ANSWER,
        "session_id": "s-1",
        "usage": usage,
        "modelUsage": models,
        "permission_denials": [],
        "total_cost_usd": 0.5,
    }
    return whole | changes


def copilot(*, events: bool) -> list[dict[str, Any]]:
    """`--output-format json`, or events.jsonl with tokens."""

    def record(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data}

    def asks(name: str, id_: str, arguments: dict[str, Any], text: str = "") -> dict[str, Any]:
        request = {"toolCallId": id_, "name": name, "arguments": arguments}
        return record("assistant.message", content=text, toolRequests=[request])

    rows = [
        record("user.message", content=PROMPT, transformedContent=f"<now>x</now>{PROMPT}"),
        asks("skill", "c1", {"skill": SKILL}),
        record("tool.execution_complete", toolCallId="c1", success=True, result={"content": "loaded"}),
        record("skill.invoked", name=SKILL, content=SKILL_TEXT) if events else record("x.new"),
        asks("bash", "c2", {"command": "cat nope"}),
        record(
            "tool.execution_complete",
            toolCallId="c2",
            success=True,
            shellExecution={"exitCode": 1},
            result={"content": "cat: nope\n<shellId: 1 completed with exit code 1>"},
        ),
        asks("bash", "c3", {"command": "echo hi > x"}),
        record("tool.execution_complete", toolCallId="c3", success=False, error={"code": "denied", "message": "no"}),
        {"type": "assistant.message", "ephemeral": True, "data": {"content": "not this"}},
        record("assistant.message", content=ANSWER, toolRequests=[]),
    ]
    if not events:
        return [*rows, {"type": "result", "sessionId": "s-1", "exitCode": 0, "usage": {"premiumRequests": 0}}]
    records = [
        record(
            "session.usage_record",
            usage={"inputTokens": i, "cacheReadTokens": c, "outputTokens": o, "reasoningTokens": r},
        )
        for i, c, o, r in CALLS
    ]
    start = record("session.start", sessionId="s-1", copilotVersion="1.0.102")
    return [start, record("system.message", content="You run in non-interactive mode."), *rows, *records]
