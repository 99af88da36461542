"""A person's own rows, made into items: conversations with their answer apart, and exact copies dropped.

A chat record (`messages`, `conversations`) or an evals record (`input`, `ideal`) holds the answer inside the
conversation. Here the last word of the assistant becomes `answer` and what came before `question` (and `system`), so
that no prompt can show it. Two rows that are equal in every field are one item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from skillopt.core.hashing import digest
from skillopt.envs.data.rows import ItemFile, Row

_CHATS = ("messages", "conversations", "conversation", "input")
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "developer": "system"}


def own_rows(found: ItemFile, *, name: str = "the items") -> ItemFile:
    """The rows as items, and what was done to them."""
    rows = [Row(reshaped(row.data), row.where) for row in found.rows]
    notes = list(found.notes)
    chats = sum(new.data is not old.data for new, old in zip(rows, found.rows, strict=True))
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
    field = next((name for name in _CHATS if _turns(data.get(name))), "")
    if not field:
        return data
    turns = _turns(data[field])
    system = "\n\n".join(text for role, text in turns if role == "system")
    spoken = [(role, text) for role, text in turns if role != "system"]
    answer: str | None = None
    if spoken and spoken[-1][0] == "assistant":
        answer = spoken.pop()[1]
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
        if not isinstance(role, str) or not isinstance(text, str):
            return []
        found.append((_ROLES.get(role, role), text))
    return found
