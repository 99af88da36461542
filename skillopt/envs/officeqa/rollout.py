"""Scoring an OfficeQA answer: equal normal forms (hard), F1 of their tokens (soft).

The first pair of answer tags, else the last line. Where the target has tools or searches, a reply without tags is no
answer: it called no tool either, and the item fails at once.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.extract import last_line

VERSION = 1
_DROPPED = str.maketrans("", "", "".join(c for c in string.punctuation if c not in ".-%"))
_WORDS = re.compile(r"\b(?:millions?|billions?|dollars?|nominal)\b")
_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)


def normal(text: str) -> str:
    """The form in which answers are compared.

    >>> normal("$1,234.5 Million"), normal("million-dollar"), normal("[1, 2]")
    ('1234.5', '-', '1 2')
    """
    return " ".join(_WORDS.sub("", text.lower().strip().replace(",", "").translate(_DROPPED)).split())


def first_tagged(reply: str) -> str | None:
    """The first pair of answer tags; None without one."""
    opened: re.Match[str] | None = None
    for mark in _TAG.finditer(reply):
        if mark[1] and opened is not None:
            return reply[opened.end() : mark.start()].strip()
        if not mark[1] and opened is None:
            opened = mark
    return None


def f1(prediction: str, gold: str) -> float:
    """F1 of the tokens of two normal forms; two empty ones are equal."""
    ours, theirs = normal(prediction).split(), normal(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * sum((Counter(ours) & Counter(theirs)).values()) / (len(ours) + len(theirs))


def score(reply: str, gold: str, *, protocol: str, needs_tag: bool) -> Scored:
    """The outcome of a reply; `protocol` says what the target was given."""
    detail: dict[str, JsonValue] = {"protocol": protocol}
    answer = first_tagged(reply)
    if answer is None:
        if needs_tag or not reply.strip():
            return Scored(
                0.0, 0.0, fail_reason="no-answer: the reply has neither a call nor answer tags", detail=detail
            )
        answer = last_line(reply)
    hard = normal(answer) == normal(gold)
    reason = "" if hard else f"predicted {answer!r}, expected {gold!r}"
    return Scored(float(hard), f1(answer, gold), fail_reason=reason, predicted=answer, detail=detail)
