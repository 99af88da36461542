"""The score of a DocVQA reply: ANLS, the average normalised Levenshtein similarity. Pure functions, golden values."""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, shorten
from skillopt.envs.scorers.extract import extract_answer
from skillopt.envs.single_answer import needs

RIGHT = 0.999
_TOO_FAR = 0.5


def anls(prediction: str, gold: str) -> float:
    """1 − distance, where the distance is Levenshtein over the longer length of the lower-cased, squeezed texts; 0 from
    a distance of one half on.

    >>> anls("1997", "1998")
    0.75
    """
    try:
        from rapidfuzz.distance import Levenshtein
    except ModuleNotFoundError as error:
        raise needs("rapidfuzz", "ANLS") from error
    ours, theirs = " ".join(prediction.lower().split()), " ".join(gold.lower().split())
    if not ours or not theirs:
        return float(ours == theirs)
    distance = Levenshtein.distance(ours, theirs) / max(len(ours), len(theirs))
    return 0.0 if distance >= _TOO_FAR else 1.0 - distance


def score(item: Item, text: str) -> Scored:
    """Score the final reply against the nearest gold answer. An empty answer is an answer."""
    answer = extract_answer(text, "answer_tag")
    golds: tuple[str, ...] = tuple(item.data["answers"])
    best = max(anls(answer, gold) for gold in golds)
    hard = float(best >= RIGHT)
    shown = Gold(None, golds).shown()
    reason = "" if hard else f"answered {shorten(answer)!r}, expected {shown!r} (ANLS {best:.4f})"
    return Scored(hard, best, fail_reason=reason, predicted=answer, detail={"anls": best})
