"""Reading a SealQA answer, and comparing it without a judge. Pure functions."""

from __future__ import annotations

import re

from skillopt.envs.scorers.extract import extract_answer

_DROPPED = re.compile(r"[^\w\s%.-]")


def answer_in(text: str) -> str:
    """The last answer tag, else the last line."""
    return extract_answer(text, "answer_tag")


def normal(text: str) -> str:
    """Lower-case, everything dropped but word characters, spaces, `%`, `.` and `-`; squeezed.

    >>> normal("  $1,200  (approx.)")
    '1200 approx.'
    """
    return " ".join(_DROPPED.sub("", text.lower()).split())


def equal(answer: str, gold: str, *, lenient: bool = False) -> bool:
    """Equal normal forms; `lenient`: one contains the other."""
    ours, theirs = normal(answer), normal(gold)
    return ours == theirs or (lenient and bool(ours and theirs) and (ours in theirs or theirs in ours))
