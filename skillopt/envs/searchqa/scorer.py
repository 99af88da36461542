"""The SearchQA scorer. hard = exact match, soft = token F1, each the best over the gold answers.

`sub_em` is recorded beside them.
"""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, shorten
from skillopt.envs.scorers.extract import extract_answer
from skillopt.envs.scorers.text import exact_match, sub_match, token_f1


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
