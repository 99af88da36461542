"""How many tokens a prompt may be, from its characters alone.

No tokenizer is loaded: the figure serves reservations and forecasts, and is replaced by the provider's own count as
soon as there is one. `expected` is a fair guess for prose; `bound` is generous, so that a reservation made from it
holds for code, digits and scripts that tokenize badly.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from skillopt.model.types import Message

MESSAGE_OVERHEAD = 8
"""Tokens a chat template spends on the frame of one message, rounded up."""
IMAGE_TOKENS = 2_000
"""Tokens of one image part at high detail, rounded up; its bytes say nothing about it."""


def expected(text: str) -> int:
    """Likely number of tokens: four ASCII characters or one and a half others to a token."""
    ascii_chars, others = _classes(text)
    return ceil(ascii_chars / 4 + others / 1.5)


def bound(text: str) -> int:
    """A generous number of tokens: two ASCII characters to a token, two tokens for any other character."""
    ascii_chars, others = _classes(text)
    return ceil(ascii_chars / 2) + 2 * others


def prompt_bound(messages: Iterable[Message]) -> int:
    """`bound` of a whole prompt, message frames and images included."""
    total = 0
    for message in messages:
        total += MESSAGE_OVERHEAD + sum(MESSAGE_OVERHEAD + bound(call.arguments) for call in message.tool_calls)
        if isinstance(message.content, str):
            total += bound(message.content)
            continue
        for part in message.content:
            text = part.get("text")
            total += bound(text) if isinstance(text, str) else IMAGE_TOKENS
    return total


def _classes(text: str) -> tuple[int, int]:
    """(ASCII characters, other characters)."""
    if text.isascii():
        return len(text), 0
    others = len(text) - len(text.encode("ascii", "ignore"))
    return len(text) - others, others
