"""Words of a text, and a compact memory of which word n-grams a large body of texts holds.

`NgramFilter` never forgets an n-gram it was given and rarely (about 1 in 5,000) claims one it was not: whoever needs
certainty looks at the texts again, which is worth it only for the few that pass. Six bytes per n-gram.
"""

from __future__ import annotations

import random
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]+")
_SLOTS_PER_NGRAM = 3
_CHARS_PER_WORD = 5
"""A low estimate of letters and space per word, so that the table is rather too large than too small."""


def words_of(text: str) -> list[str]:
    """Words and numbers of `text`: compatibility forms unified, case folded, punctuation and spacing gone."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text.casefold())


def ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    """All runs of `n` consecutive words, in order."""
    return zip(*(words[i:] for i in range(n)), strict=False)


class NgramFilter:
    """Which word n-grams were seen; false positives possible, false negatives not."""

    def __init__(self, n: int, *, total_chars: int) -> None:
        """`total_chars` of all texts that will be added sizes the table; more than that only makes it less precise."""
        self.n = n
        self._slots = max(1 << 10, _SLOTS_PER_NGRAM * total_chars // _CHARS_PER_WORD)
        self._table = array("H", bytes(2 * self._slots))
        draw = random.Random(0)
        self._patterns = [sum(1 << bit for bit in draw.sample(range(16), 4)) for _ in range(1 << 10)]

    def add(self, words: Sequence[str]) -> None:
        """Remember every n-gram of `words`."""
        table, slots, patterns = self._table, self._slots, self._patterns
        for h in map(hash, ngrams(words, self.n)):
            table[h % slots] |= patterns[(h >> 40) & 1023]

    def may_hold(self, ngram: tuple[str, ...]) -> bool:
        """False means certainly not seen."""
        h = hash(ngram)
        pattern = self._patterns[(h >> 40) & 1023]
        return self._table[h % self._slots] & pattern == pattern
