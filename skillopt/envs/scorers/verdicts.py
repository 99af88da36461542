"""A judge that answers with one word: True or False, or A, B or C.

A reply with exactly one verdict counts; anything else (none, two, prose around a letter) is asked again, a few times,
and is missing then. The texts of an item are fenced: what they say is no instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from skillopt.core.outcome import Missing
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scorers.judging import blocks
from skillopt.envs.scoring import ScoreContext
from skillopt.model.types import ChatRequest, Message

_TRUTH = re.compile(r"\b(true|false)\b", re.IGNORECASE)
_LETTER = re.compile(r"[\s*_`\"'(\[]*([ABC])[\s*_`\"')\].:]*")


def truth(reply: str) -> str | None:
    """`True` or `False` where a reply says one of them, however often, and not the other.

    >>> truth("**True**"), truth("True, not False"), truth("Trueish")
    ('True', None, None)
    """
    found = {word.capitalize() for word in _TRUTH.findall(reply)}
    return found.pop() if len(found) == 1 else None


def letter(reply: str) -> str | None:
    """A, B or C where that is the whole reply."""
    match = _LETTER.fullmatch(reply)
    return match[1] if match else None


@dataclass(frozen=True)
class OneWordJudge:
    """A judge's instructions, how its reply is read, and how often it is asked before there is no verdict."""

    system: str
    read: Callable[[str], str | None]
    attempts: int = 5
    max_completion_tokens: int = 256

    async def verdict(self, ctx: ScoreContext, *, task: str, reference: str, answer: str) -> str | Missing:
        """The word. Errors of the call are raised as the model raises them."""
        user = blocks(task=task, reference=reference, answer=answer)
        said = ""
        for attempt in range(self.attempts):
            reply = await ctx.judge.chat(
                ChatRequest(
                    messages=(Message("system", self.system), Message("user", user)),
                    stage=ctx.stage,
                    max_completion_tokens=self.max_completion_tokens,
                    repeat=attempt,
                    priority=ctx.priority,
                )
            )
            found = self.read(reply.text) if reply.finish == "stop" else None
            if found is not None:
                return found
            said = reply.text
        return Missing(
            f"the judge gave no verdict in {self.attempts} replies; the last was: {shorten(said) or '(empty)'}"
        )
