"""Finding and comparing MMRB answers. Pure functions, golden values."""

from __future__ import annotations

import re
import string

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scorers.extract import boxed, tagged

_BRACKET = re.compile(r"Answer\s*\[([^\[\]]*)\]", re.IGNORECASE)
_LETTER = re.compile(r"\s*[(\[*]*([A-Za-z])[)\]*.:]*\s*")
_SAID = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"final answer is[:\s]*([^\n]+)", r"the answer is[:\s]*([^\n]+)", r"answer\s*:\s*([^\n]+)")
)
_OPTION = re.compile(r"\s*\(?([A-Z])[).:]\s*(.*)", re.DOTALL)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_in(text: str) -> str:
    """The last answer tag; the last `Answer[…]`; the last box; a single letter; what the text says the final answer is,
    the answer is, or writes behind "answer:"; else the whole text.

    >>> answer_in("So the answer is (B)."), answer_in("Answer[4]")
    ('(B)', '4')
    """
    found = tagged(text)
    if found is None and (brackets := _BRACKET.findall(text)):
        found = str(brackets[-1]).strip()
    if found is None:
        found = boxed(text)
    if found is None and (letter := _LETTER.fullmatch(text)):
        found = letter[1]
    for phrase in _SAID:
        if found is None and (said := phrase.findall(text)):
            found = str(said[-1]).strip().rstrip(".").strip().strip("*").strip()
    return text.strip() if found is None else found


def normal(text: str) -> str:
    """Lower-case, without ASCII punctuation, squeezed."""
    return " ".join(text.lower().translate(_NO_PUNCTUATION).split())


def options(item: Item) -> dict[str, str]:
    """Label → text of the options, which are written `(A) text`."""
    found: dict[str, str] = {}
    for number, option in enumerate(item.data["options"]):
        match = _OPTION.match(str(option))
        label, text = (match[1], match[2].strip()) if match else (string.ascii_uppercase[number], str(option))
        found[label] = text
    return found


def choice(answer: str, labelled: dict[str, str]) -> str | None:
    """The label that an answer names, by itself, in front of a text, or by the text of one option."""
    letter = _LETTER.fullmatch(answer) or _OPTION.match(answer.strip())
    if letter and letter[1].upper() in labelled:
        return letter[1].upper()
    form = normal(answer)
    named = [label for label, text in labelled.items() if form and normal(text) == form]
    return named[0] if len(named) == 1 else None


def score(item: Item, text: str, *, lenient: bool = False) -> Scored:
    """hard = soft: the right option, or an equal open answer (`lenient`: one contains the other)."""
    answer, gold = answer_in(text), str(item.data["answer"])
    labelled = options(item)
    if labelled:
        chosen, right = choice(answer, labelled), choice(gold, labelled)
        hit = chosen is not None and chosen == right
    else:
        chosen, ours, theirs = None, normal(answer), normal(gold)
        hit = ours == theirs or (lenient and bool(ours and theirs) and (ours in theirs or theirs in ours))
    reason = "" if hit else f"answered {shorten(answer)!r}, expected {shorten(gold)!r}"
    detail = {"scorer": "lenient" if lenient else "equality"}
    return Scored(float(hit), float(hit), reason, chosen or answer, detail)
