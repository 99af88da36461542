"""Reading and comparing MathVerse answers. Pure functions, golden values."""

from __future__ import annotations

import re

from skillopt.core.item import Item
from skillopt.envs.scorers.extract import boxed, last_line, tagged

_SPACES = re.compile(r"~|\\,|\\ ")
_DROPPED = re.compile(r"\$|\\mathrm|[{}]")
_LABEL = re.compile(r"\(?\s*([A-Z])\s*\)?(?:[.:)\s]|$)")


def answer_in(text: str) -> str:
    """The last answer tag, else the last box, else the last line."""
    found = tagged(text)
    if found is None:
        found = boxed(text)
    return last_line(text) if found is None else found


def is_choice(item: Item) -> bool:
    """Whether the answer is a label."""
    return str(item.data["question_type"]).lower().startswith("multi")


def label(answer: str) -> str:
    """The label that an answer begins with, upper-case; without one the answer itself, which equals no label.

    >>> label("(d)"), label("B: 60"), label("about 4")
    ('D', 'B', 'ABOUT 4')
    """
    bare = answer.strip().upper()
    found = _LABEL.match(bare)
    return found[1] if found else bare


def normal(answer: str) -> str:
    """The form in which free answers are compared.

    >>> normal(r"$12\\,cm$") == normal(r"12 \\mathrm{cm}")
    True
    """
    return " ".join(_DROPPED.sub("", _SPACES.sub(" ", answer)).split()).lower()
