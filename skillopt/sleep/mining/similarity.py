"""How alike two requests are, without a model: their words with case, numbers, paths and quotations taken out.

Numbers become `#`, paths their last name, quotations `"…"`; words that every request has are left out. Likeness is the
weighted Jaccard index of the two sets.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from skillopt.core.ngrams import words_of

ALIKE = 0.4
"""From here on two requests are the same kind."""
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|`[^`\n]{1,400}`|“[^”\n]{1,400}”|(?<!\w)'[^'\n]{2,400}'(?!\w)")
_PATH = re.compile(r"(?<![\w:])(?:~|\.{1,2})?(?:/?[\w.@+-]+/)+([\w.@+-]*)")
_NUMBER = re.compile(r"(?<![A-Za-z_])[vV]?\d[\d.,:/_-]*(?:st|nd|rd|th|px|ms|kb|mb|gb|%)?(?![A-Za-z])")
_MASKED = {"numbermask": "#", "quotemask": '"…"'}
_COMMON = frozenset((
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "could",
    "do", "does", "for", "from", "get", "give", "go", "had", "has", "have", "help", "hey", "hi", "how", "i", "if",
    "in", "into", "is", "it", "its", "just", "lets", "let", "like", "make", "may", "me", "my", "need", "no", "not",
    "now", "of", "ok", "okay", "on", "one", "or", "our", "out", "over", "please", "pls", "s", "she", "should", "so",
    "some", "t", "thanks", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "up", "us", "version", "want", "was", "we", "well", "were", "what", "when", "where",
    "which", "who", "will", "with", "would", "yes", "you", "your",
))  # fmt: skip
LIGHT_WORDS = frozenset(_MASKED.values())
_LIGHT = 0.25
"""Weight of what stands for a number or a quotation."""


def tokens_of(text: str) -> frozenset[str]:
    """The set of words by which a request is told from others.

    >>> sorted(tokens_of("Please write the changelog entry for 1.4"))
    ['#', 'changelog', 'entry', 'write']
    """
    text = _QUOTED.sub(" quotemask ", text[:4_000])
    text = _PATH.sub(lambda path: f" {path[1] or ' '} ", text)
    text = _NUMBER.sub(" numbermask ", text)
    return frozenset(_MASKED.get(word) or _stem(word) for word in words_of(text) if word not in _COMMON)


def likeness(one: Collection[str], other: Collection[str]) -> float:
    """0 for nothing in common, 1 for equal sets."""
    first, second = frozenset(one), frozenset(other)
    either = _weight(first | second)
    return _weight(first & second) / either if either else 0.0


def substance(tokens: Collection[str]) -> int:
    """How many words of its own a request has; fewer than two say nothing about its kind."""
    return sum(token not in LIGHT_WORDS for token in tokens)


def _weight(tokens: Collection[str]) -> float:
    return sum(_LIGHT if token in LIGHT_WORDS else 1.0 for token in tokens)


def _stem(word: str) -> str:
    """A word without the endings that a paraphrase changes."""
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            stem = word[: -len(ending)]
            stem = stem + "y" if ending == "ies" else stem
            return stem.rstrip("e") if ending != "ies" else stem
    return word.rstrip("e") if len(word) > 3 else word
