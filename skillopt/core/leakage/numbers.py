"""Numbers of a text as plain digits, however they are spaced, with or without what stands before or behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MIN_NUMBER, _MAX_NUMBER = 7, 25
_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:[\s().\-/+–]{1,3}[0-9]+)*")


def telling_pieces(text: str) -> Iterator[str]:
    """Every head and tail of each number of the text that is long enough to tell one number from another."""
    for run in _NUMBER.findall(text):
        digits = "".join(_DIGITS.findall(run))[:_MAX_NUMBER].lstrip("0")
        for length in range(_MIN_NUMBER, len(digits) + 1):
            yield digits[:length]
            yield digits[-length:]


def joined_digits(text: str) -> Iterator[str]:
    """Numbers of a text as plain digits: neighbouring groups joined in every way, leading zeros (trunk, 00) dropped."""
    for run in _NUMBER.findall(text):
        groups: list[str] = _DIGITS.findall(run)
        for start in range(len(groups)):
            joined = ""
            for group in groups[start:]:
                joined += group
                if len(joined) > _MAX_NUMBER:
                    break
                digits = joined.lstrip("0")
                if len(digits) >= _MIN_NUMBER:
                    yield digits
