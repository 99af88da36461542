"""Healthy replies that betray a server set up wrongly: worth one warning per endpoint, never an error.

A reply that is all reasoning has no answer in it; tool calls written as text are executed by nobody. Both score like
wrong answers, so that without a word the run would look like a bad model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillopt.model.types import ChatReply, ChatRequest

_BLOCK = re.compile(
    r"<(?P<name>(?:\w+:)?(?:think|thinking|thought|reasoning))>.*?(?:</(?P=name)>|\Z)", re.DOTALL | re.I
)
_TOOL_MARKS = ("<tool_call>", "[TOOL_CALLS]", "<|tool_call|>", "<|tool_calls_section_begin|>", "<function_calls>",
               "<|python_tag|>", "<function=", "<minimax:tool_call>")  # fmt: skip

REASONING_ONLY = "reasoning only"
TOOL_TEXT = "tool call as text"
UNKNOWN_END = "unknown end"


def symptoms(request: ChatRequest, reply: ChatReply) -> Iterator[tuple[str, str]]:
    """(kind, what to tell the user) for each symptom of a reply."""
    if reply.finish == "stop" and not reply.tool_calls and is_reasoning_only(reply.text):
        yield (
            REASONING_ONLY,
            "replies with its reasoning and no answer; switch thinking off (thinking_mode: disabled), raise the "
            "completion cap, or give the server a reasoning parser",
        )
    if reply.finish == "unknown":
        yield (
            f"{UNKNOWN_END} {reply.ended_with}",
            f"ends replies with {reply.ended_with!r}, which nobody here knows; such replies are not taken for whole "
            "ones, and their items are not scored",
        )
    mark = next((mark for mark in _TOOL_MARKS if mark in reply.text), None)
    if mark is not None and not reply.tool_calls and not _was_shown(request, mark):
        yield (
            TOOL_TEXT,
            f"writes tool calls as text ({mark}), so they are not executed; start the server with its tool parser",
        )


def is_reasoning_only(text: str) -> bool:
    """True when nothing is left of a text, which is not blank, once its reasoning blocks are taken out."""
    return bool(text.strip()) and not _BLOCK.sub("", text).strip()


def _was_shown(request: ChatRequest, mark: str) -> bool:
    """True when the prompt itself holds the mark: then it was asked for, or is being talked about."""
    return any(
        mark in (m.content if isinstance(m.content, str) else "".join(str(p.get("text") or "") for p in m.content))
        for m in request.messages
    )
