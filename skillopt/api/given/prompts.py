"""What the target will read: the first item of the training split as a prompt, before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.api.runs.prepared import Prepared
from skillopt.model.types import Message


@dataclass(frozen=True)
class ShownMessage:
    """One message as text."""

    role: str
    text: str


def first_prompt(prepared: Prepared) -> tuple[ShownMessage, ...]:
    """The messages of the first training item with the initial skill; empty where an environment asks in steps of its
    own and has none to show."""
    work = prepared.work
    for item in work.splits.train[:1]:
        try:
            messages = work.env.messages(item, work.initial.text)
        except NotImplementedError:
            return ()
        return tuple(ShownMessage(m.role, _text(m)) for m in messages)
    return ()


def _text(message: Message) -> str:
    """Parts that are no text are named, not shown."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(part.get("text") or f"[{part.get('type', 'part')}]") for part in message.content)
