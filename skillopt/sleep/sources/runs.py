"""Hashes of the eight-word runs of a text: enough to tell that a rule was copied from a tool's output, and no more.

The hash is a polynomial over the words' CRC, so it is the same in every process; the words cannot be read back. Of one
session 40,000 runs are kept at most, the first of each result.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from skillopt.core.ngrams import words_of

RUN = 8
MAX_RUNS = 40_000
_BASE, _MODULUS = 1_000_003, (1 << 61) - 1
_LEAVING = pow(_BASE, RUN, _MODULUS)
_MAX_CHARS = 400_000


def runs_of(text: str) -> Iterator[int]:
    """One number for each run of eight words, in order; none for a shorter text."""
    numbers = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words_of(text[:_MAX_CHARS])]
    value = 0
    for number in numbers[: RUN - 1]:
        value = (value * _BASE + number) % _MODULUS
    for number, left in zip(numbers[RUN - 1 :], [0, *numbers], strict=False):
        value = (value * _BASE + number - left * _LEAVING) % _MODULUS
        yield value


def copied_from(text: str, runs: frozenset[int]) -> bool:
    """Whether `text` holds a run of eight words that the tool output behind `runs` held too."""
    return any(run in runs for run in runs_of(text))
