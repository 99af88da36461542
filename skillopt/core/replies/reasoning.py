"""What of a reply is the model's reasoning: one rule for targets and optimizer.

A block between `<think>` and `</think>` (or thinking, thought, reasoning) is reasoning. A closing tag before any
opening one ends it too: some chat templates write the opening tag into the prompt. So does the closing tag of a block
that holds others. A reply that begins with a block and never closes it is nothing but reasoning; an opening tag
elsewhere that is never closed is text.
"""

from __future__ import annotations

import re

NAMES = r"think|thinking|thought|reasoning"
_MARK = re.compile(rf"<(?P<close>/?)(?P<name>{NAMES})>", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """The reply without its reasoning; the very same text where there is none. Takes linear time.

    >>> without_reasoning("<think>B? No.</think>\\nA"), without_reasoning("so it is A</think>A")
    ('A', 'A')
    >>> without_reasoning("<think>first I should"), without_reasoning("the tag <think> opens it")
    ('', 'the tag <think> opens it')
    """
    marks = list(_MARK.finditer(text))
    if not marks:
        return text
    kept: list[str] = []
    at = 0
    opened: re.Match[str] | None = None
    inner = 0  # opening tags within the last block that have no closing one yet
    for mark in marks:
        if not mark["close"]:
            inner = inner + 1 if opened else 0
            opened = opened or mark
        elif opened is None:
            if inner or not kept:
                at, inner = mark.end(), max(0, inner - 1)
        elif mark["name"].lower() == opened["name"].lower():
            kept.append(text[at : opened.start()])
            at, opened = mark.end(), None
    if opened is not None and not "".join(kept).strip() and not text[at : opened.start()].strip():
        return ""
    return "".join([*kept, text[at:]]).strip()
