"""When two edits say the same: near-duplicates become one factor, so that their evidence adds up.

Two contents are compared by the words that carry meaning, rare ones counting more, with endings and filler taken away.
What would turn the meaning round keeps them apart: a negation in one only, other numbers, other quoted words. The
comparison never calls a model; what the optimizer says itself (`same_as`) comes on top, in `pool`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from skillopt.core.ngrams import words_of

SAME = 0.55
"""Similarity from which two contents are one idea. Half of the words is not enough, two thirds always are."""

_NEGATION_WORDS = "not never no don't dont avoid without unless except neither nor cannot refuse omit skip"
_FILLER_WORDS = """a about add after all also always an and any are as at be because been before being both but by can
case check consider could do does done each either ensure every first follow for from give given has have having here
how
however if important in instead into is it its just keep least like make making may means might more most must need
needed next note of on once one only or other our out over own please prefer provide put reply respond rule same see
should simply so some such sure take task text than that the their them then there these they thing things this those
through to together too under up use used using very want was way we well were what when where whenever which while who
whole why will with within work would write you your answer answers output response result question remember apply
carefully verify confirm strictly exactly correct correctly"""
_NEGATIONS, _FILLER = frozenset(_NEGATION_WORDS.split()), frozenset(_FILLER_WORDS.split())
_ENDINGS = (
    "ations",
    "ation",
    "ingly",
    "ments",
    "ment",
    "ings",
    "ing",
    "ies",
    "ied",
    "ers",
    "er",
    "ed",
    "es",
    "ly",
    "s",
)
_QUOTED = re.compile(r"[`\"“”]([^`\"“”\n]{1,60})[`\"“”]|(?<!\w)'([^'\n]{1,60})'(?!\w)")
_LEAST_STEM = 4


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)]
    return word


@dataclass(frozen=True)
class Meaning:
    """What of a text is compared: stems of its telling words, and what must not differ."""

    stems: frozenset[str]
    negated: bool
    exact: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Meaning:
        """Read one text, for example the content of an edit."""
        words = words_of(text.replace("n't", " not"))
        stems = frozenset(_stem(w) for w in words if w not in _FILLER and w not in _NEGATIONS and not w.isdigit())
        quoted = {" ".join(words_of(a or b)) for a, b in _QUOTED.findall(text)}
        exact = frozenset(w for w in words if w.isdigit()) | frozenset(q for q in quoted if q)
        return cls(stems, any(w in _NEGATIONS for w in words), exact)


class Vocabulary:
    """How rare each stem is among the contents seen so far: a word that half of the lines share says little."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._seen: Counter[str] = Counter()
        self._texts = 0
        for text in texts:
            self.add(Meaning.of(text))

    def add(self, meaning: Meaning) -> None:
        """Count one more text."""
        self._texts += 1
        self._seen.update(meaning.stems)

    def weight(self, stem: str) -> float:
        """Between about 1 (in every text) and the logarithm of the number of texts."""
        return math.log((self._texts + 2) / (self._seen[stem] + 0.5)) + 0.5

    def similarity(self, one: Meaning, other: Meaning) -> float:
        """Weighted share of common stems (Dice), 0 when a negation, a number or a quotation tells them apart.

        >>> words = Vocabulary()
        >>> words.similarity(Meaning.of("Give dates as YYYY."), Meaning.of("Do not give dates as YYYY."))
        0.0
        """
        if one.negated != other.negated or one.exact != other.exact:
            return 0.0
        if not one.stems or not other.stems:
            return 1.0 if one == other else 0.0
        both = math.fsum(self.weight(s) for s in one.stems & other.stems)
        whole = math.fsum(map(self.weight, one.stems)) + math.fsum(map(self.weight, other.stems))
        return 2 * both / whole
