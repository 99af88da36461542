"""Quotations: most of a short item text, word for word, spacing and punctuation aside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

MAX_QUOTED = 200
"""Letters and digits. Longer item texts are the business of the `words` rule."""
MIN_QUOTE = 8
MIN_DIGITS, MIN_WORDS = 5, 3
"""So many digits, and so many words in full, single a text out."""
_QUOTE_SHARE, _MIN_QUOTE_WORDS = 0.6, 4


@dataclass(frozen=True)
class Quotable:
    """A short item text as letters and digits only, and where its words end."""

    compact: str
    words: tuple[str, ...]
    source: str

    @property
    def least(self) -> int:
        """How many characters in a row are a quotation."""
        return max(MIN_QUOTE, math.ceil(_QUOTE_SHARE * len(self.compact)))

    def quoted_in(self, text: str, edges: set[int]) -> Iterator[str]:
        """Pieces of this text that stand in another one (letters and digits only; `edges` are the ends of its words).

        A run of 60 % always covers the middle, so only that is searched for.
        """
        size, least = len(self.compact), self.least
        seed = self.compact[size - least : least]
        at = text.find(seed)
        while at >= 0:
            start, end = self._grown(size - least, least, text, at)
            left = at - (size - least - start)
            piece = self.compact[start:end]
            if (
                len(piece) >= least
                and self._telling(start, end)
                and not any(_cuts_number(text, place, edges) for place in (left, left + len(piece)))
            ):
                yield piece
            at = text.find(seed, at + 1)

    def _grown(self, start: int, end: int, text: str, at: int) -> tuple[int, int]:
        """The longest match in `text` around `compact[start:end] == text[at:]`, as a range of `compact`."""
        item = self.compact
        left, right = at, at + end - start
        while start and left and item[start - 1] == text[left - 1]:
            start, left = start - 1, left - 1
        while end < len(item) and right < len(text) and item[end] == text[right]:
            end, right = end + 1, right + 1
        return start, end

    def _telling(self, start: int, end: int) -> bool:
        """Whether a matched range singles the item out: most of its digits if it has a number, else several whole
        words. So a table of countries and codes does not quote an item that names a country."""
        digits = sum(map(str.isdigit, self.compact))
        if digits >= MIN_DIGITS:
            return sum(map(str.isdigit, self.compact[start:end])) >= _QUOTE_SHARE * digits
        at, whole = 0, 0
        for word in self.words:
            whole += start <= at and at + len(word) <= end
            at += len(word)
        return whole >= _MIN_QUOTE_WORDS or (whole == len(self.words) and whole >= MIN_WORDS)


def edges_of(words: Sequence[str]) -> set[int]:
    """Where words end in their joined text."""
    return set(accumulate(map(len, words)))


def _cuts_number(text: str, at: int, edges: set[int]) -> bool:
    """Whether `at` lies inside a number of the text."""
    return 0 < at < len(text) and at not in edges and text[at - 1].isdigit() and text[at].isdigit()
