"""Text that came from somewhere else, in a fence: for a model it is data, whatever it says."""

from __future__ import annotations

import re


def fenced(text: str, label: str = "data") -> str:
    """The text in a labelled fence that it cannot close itself.

    >>> fenced("ten", "answer").splitlines()
    ['```answer', 'ten', '```']
    """
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{label}\n{text}\n{fence}"
