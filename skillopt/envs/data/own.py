"""A person's own rows, made into items: conversations with their answer apart, published forms unfolded, and exact
copies dropped.

A chat record (`messages`, `conversations`) or an evals record (`input`, `ideal`) holds the answer inside the
conversation. Here the last word of the assistant becomes `answer` and what came before `question` (and `system`), so
that no prompt can show it; a call of a tool is written as JSON. ARC's question (`stem`, `choices`) becomes two fields,
and a question of SQuAD's second form that has no answer in its text is answered by the word `unanswerable`. Two rows
that are equal in every field are one item.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillopt.core.hashing import digest
from skillopt.core.json_types import parse_json
from skillopt.envs.data.rows import ItemFile, Row

UNANSWERABLE = "unanswerable"
_CHATS = ("messages", "conversations", "conversation", "input")
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "developer": "system"}


def own_rows(found: ItemFile, *, name: str = "the items") -> ItemFile:
    """The rows as items, and what was done to them."""
    rows = [Row(reshaped(row.data), row.where) for row in found.rows]
    notes = list(found.notes)
    chats = sum(_chat_field(row.data) != "" for row in found.rows)
    unanswered = sum(_is_unanswered(row.data) for row in found.rows)
    if unanswered:
        notes.append(
            f"{unanswered} of {len(rows)} questions have no answer in their text: the right answer is {UNANSWERABLE!r}"
        )
    if chats:
        notes.append(
            f"{chats} of {len(rows)} rows are conversations: the assistant's last message is the answer, what came "
            "before it the question"
        )
    kept, dropped = without_copies(rows)
    if dropped:
        notes.append(copies_left_out(name, dropped))
    return ItemFile(kept, tuple(notes))


def copies_left_out(name: str, count: int) -> str:
    """The sentence for it."""
    return f"{name}: {count} exact cop{'ies' if count > 1 else 'y'} of other rows left out"


def without_copies(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """The rows without those that equal an earlier one in every field, and how many those were."""
    seen: set[str] = set()
    kept: list[Row] = []
    for row in rows:
        key = digest(dict(row.data))
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept, len(rows) - len(kept)


def reshaped(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A conversation's record with its answer apart; any other record as it is.

    >>> reshaped({"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]})
    {'question': '2+2?', 'answer': '4'}
    >>> reshaped({"input": [{"role": "user", "content": "2+2?"}], "ideal": ["4", "four"]})
    {'question': '2+2?', 'ideal': ['4', 'four']}
    """
    field = _chat_field(data)
    if not field:
        return _unfolded(data)
    turns = _turns(data[field])
    system = "\n\n".join(text for role, text in turns if role == "system")
    spoken = [(role, text) for role, text in turns if role != "system"]
    answer: object = None
    if spoken and spoken[-1][0] == "assistant":
        text, last = spoken.pop()[1], data[field][-1]
        calls = [] if last.get("content") else _calls(last)
        answer = text if not calls else calls[0] if len(calls) == 1 else calls
    if len(spoken) == 1:
        question = spoken[0][1]
    else:
        question = "\n\n".join(f"{role.capitalize()}: {text}" for role, text in spoken)
    made: dict[str, Any] = {}
    if system:
        made["system"] = system
    made["question"] = question
    if answer is not None:
        made["answer"] = answer
    return {**made, **{name: value for name, value in data.items() if name != field}}


def _chat_field(data: Mapping[str, Any]) -> str:
    """The field that holds a conversation; blank where none does."""
    return next((name for name in _CHATS if _turns(data.get(name))), "")


def _is_unanswered(data: Mapping[str, Any]) -> bool:
    """Whether this is a question of SQuAD's second form without an answer, as published or as a hub writes it."""
    answers = data.get("answers")
    if isinstance(answers, Mapping):
        spans = cast("Mapping[str, Any]", answers)
        return spans.get("text") == [] and spans.get("answer_start") == []
    return answers == [] and data.get("is_impossible") is True


def _unfolded(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Published forms of one question as plain fields; anything else as it is."""
    if _is_unanswered(data):
        said: object = [UNANSWERABLE]
        return {**data, "answers": {"text": said, "answer_start": [-1]} if data["answers"] else said}
    question = data.get("question")
    if isinstance(question, Mapping) and "choices" not in data:
        asked = cast("Mapping[str, Any]", question)
        if isinstance(asked.get("stem"), str) and isinstance(asked.get("choices"), list):
            more = {name: value for name, value in asked.items() if name != "stem" and name not in data}
            return {**data, "question": asked["stem"], **more}
    return data


def _calls(turn: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of tools in an assistant's turn, their arguments read where they are JSON."""
    listed = turn.get("tool_calls") or ([turn["function_call"]] if turn.get("function_call") else [])
    found: list[dict[str, Any]] = []
    for entry in cast("list[Any]", listed) if isinstance(listed, list) else []:
        if not isinstance(entry, Mapping):
            continue
        call = cast("Mapping[str, Any]", entry)
        inner: Any = call.get("function", call)
        fields = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else call
        given: Any = fields.get("arguments")
        if isinstance(given, str):
            with contextlib.suppress(ValueError):  # arguments that are no JSON are shown as they are
                given = parse_json(given)
        found.append({"name": fields.get("name"), "arguments": given})
    return found


def _turns(value: Any) -> list[tuple[str, str]]:
    """(role, text) of each turn; empty for what is no conversation."""
    found: list[tuple[str, str]] = []
    for entry in cast("list[Any]", value) if isinstance(value, list) else []:
        if not isinstance(entry, Mapping):
            return []
        fields = cast("Mapping[str, Any]", entry)
        role: Any = fields.get("role", fields.get("from"))
        text: Any = fields.get("content", fields.get("value"))
        if isinstance(text, list):  # content in parts
            parts = [cast("Mapping[str, Any]", part) for part in cast("list[Any]", text) if isinstance(part, Mapping)]
            text = "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
        if text is None and isinstance(role, str) and _ROLES.get(role, role) == "assistant":
            text = "\n".join(json.dumps(call, ensure_ascii=False) for call in _calls(fields))
        if not isinstance(role, str) or not isinstance(text, str):
            return []
        found.append((_ROLES.get(role, role), text))
    return found
