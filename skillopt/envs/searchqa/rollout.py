"""One SearchQA conversation: the context cut, the messages and the score. Pure functions.

hard = exact match, soft = token F1, each the best over the gold answers; `sub_em` is recorded beside them.
"""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, shorten
from skillopt.envs.scorers.extract import extract_answer
from skillopt.envs.scorers.text import exact_match, sub_match, token_f1

DOCUMENT = "[DOC]"
CUT_MARK = " … [cut]"


def cut_context(context: str, limit: int) -> str:
    """As many whole documents as fit into `limit` characters; a first one that is longer is cut hard, with a mark."""
    if len(context) <= limit:
        return context
    end = 0
    at = context.find(DOCUMENT, 1)
    while 0 <= at <= limit:
        end = at
        at = context.find(DOCUMENT, at + len(DOCUMENT))
    kept = context[:end].rstrip()
    return kept or context[: max(0, limit - len(CUT_MARK))].rstrip() + CUT_MARK


def golds(item: Item) -> tuple[str, ...]:
    """The gold answers."""
    return tuple(item.data["answers"])


def score(item: Item, text: str) -> Scored:
    """Score the final reply. An empty answer is an answer."""
    answer = extract_answer(text, "answer_tag")
    expected = golds(item)
    em = float(any(exact_match(answer, gold) for gold in expected))
    f1 = max(token_f1(answer, gold) for gold in expected)
    sub_em = float(any(sub_match(answer, gold) for gold in expected))
    shown = Gold(None, expected).shown()
    reason = "" if em else f"answered {shorten(answer)!r}, expected {shown!r}"
    return Scored(em, f1, fail_reason=reason, predicted=answer, detail={"em": em, "f1": f1, "sub_em": sub_em})
