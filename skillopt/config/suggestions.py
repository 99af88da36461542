"""The nearest valid name, worded for the end of an error message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, valid: Iterable[str], *, cutoff: float = 0.6) -> str:
    """`", nearest: x"`, or nothing when no valid name resembles `name`."""
    found = get_close_matches(name, sorted(set(valid)), n=1, cutoff=cutoff)
    return f", nearest: {found[0]}" if found else ""
