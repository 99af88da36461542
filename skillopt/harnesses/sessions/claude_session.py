"""Claude Code's records of a conversation: the session file and the events of stream-json, which share their shape.

A reply of the model is one record per block, all with one message id and, in the session file, the same final usage on
each: counted once. Records of sub-agents (side chains) are left out; text that the program injected is no prompt.
"""

from __future__ import annotations

import re
from dataclasses import replace

from skillopt.harnesses.harness_run import HarnessRun, Origin, Step, Tokens, number, total
from skillopt.harnesses.records import Record, Records, as_call, entries, joined, mapping, text

_SYNTHETIC = "<synthetic>"
"""Model name of what the program says in the model's place: its error messages."""


def read_session(records: Records) -> HarnessRun:
    """A session file, of a headless run or of a person at the terminal. Side chains are left out."""
    session = conversation(records, prompts_are_strings=True)
    by_message: dict[str, Record] = {}
    for record in records:
        message = mapping(record, "message")
        if text(record, "type") == "assistant" and text(message, "model") != _SYNTHETIC:
            by_message[text(message, "id") or str(len(by_message))] = mapping(message, "usage")
    parts = [usage_tokens(usage) for usage in by_message.values()]
    tokens = Tokens(
        input=total(p.input for p in parts),
        output=total(p.output for p in parts),
        cached=total(p.cached for p in parts),
        reasoning=total(p.reasoning for p in parts),
    )
    return replace(
        session,
        answer=session.answers[-1] if session.answers else "",
        tokens=tokens if parts else Tokens(),
        origin=_origin(records),
        session_id=next((v for r in records if (v := text(r, "sessionId"))), ""),
        version=next((v for r in records if (v := text(r, "version"))), ""),
    )


def conversation(records: Records, *, prompts_are_strings: bool) -> HarnessRun:
    """The steps of the main conversation. In the session file a prompt is a plain string; the stream has none."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    skills: list[str] = []
    for record in records:
        if record.get("isSidechain") is True or record.get("parent_tool_use_id"):
            continue
        message = mapping(record, "message")
        kind = text(record, "type")
        if kind == "assistant" and text(message, "model") != _SYNTHETIC:
            for block in entries(message, "content"):
                _add_block(block, steps, calls, skills)
        elif kind == "user":
            _add_user(record, message, steps, calls, prompts_are_strings)
    return HarnessRun(
        steps=tuple(steps),
        skills=tuple(dict.fromkeys(skills)),
        prompts=tuple(s.text for s in steps if s.kind == "user"),
        bad_lines=records.bad,
    )


def _add_block(block: Record, steps: list[Step], calls: dict[str, int], skills: list[str]) -> None:
    kind = text(block, "type")
    if kind == "text":
        steps.append(Step("message", text(block, "text")))
    elif kind == "thinking":
        steps.append(Step("reasoning", text(block, "thinking")))
    elif kind == "tool_use":
        name = text(block, "name")
        calls[text(block, "id")] = len(steps)
        call = as_call(block.get("input"))
        steps.append(Step("tool", tool=name, call=call))
        named = text(mapping(block, "input"), "skill") if name in ("Skill", "skill") else ""
        skills += [named] if named else re.findall(r"([^/\s'\"]+)/SKILL\.md", call)


def _add_user(
    record: Record, message: Record, steps: list[Step], calls: dict[str, int], prompts_are_strings: bool
) -> None:
    injected = record.get("isMeta") is True or record.get("isSynthetic") is True
    plain = text(message, "content")
    if plain:
        if prompts_are_strings and not injected:
            steps.append(Step("user", plain))
        return
    for block in entries(message, "content"):
        if text(block, "type") == "tool_result":
            at = calls.get(text(block, "tool_use_id"))
            if at is not None:
                output = joined(block, "content")
                code = re.match(r"Exit code (\d+)", output)
                failed = block.get("is_error") is True
                steps[at] = replace(
                    steps[at], output=output, ok=not failed, exit_code=int(code.group(1)) if code else None
                )
        elif text(block, "type") == "text":
            kind = "skill" if injected else "user"
            if kind == "skill" or prompts_are_strings:
                steps.append(Step(kind, text(block, "text")))


def _origin(records: Records) -> Origin:
    for record in records:
        if text(record, "type") != "user":
            continue
        if text(mapping(record, "origin"), "kind") == "human" or text(record, "promptSource") == "typed":
            return "human"
        if text(record, "promptSource") == "sdk" or text(record, "entrypoint").startswith("sdk"):
            return "headless"
    return "unknown"


def usage_tokens(usage: Record) -> Tokens:
    """Cached input is counted apart by the API; here it is part of the input."""
    fresh, cached = number(usage, "input_tokens"), number(usage, "cache_read_input_tokens")
    written = number(usage, "cache_creation_input_tokens") or 0
    return Tokens(
        input=None if fresh is None else fresh + (cached or 0) + written,
        output=number(usage, "output_tokens"),
        cached=cached,
        reasoning=number(mapping(usage, "output_tokens_details"), "thinking_tokens"),
    )
