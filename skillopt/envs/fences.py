"""Fenced blocks of a reply: programs, commands, patches."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)
_OPEN = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n", re.MULTILINE)


def fenced(reply: str) -> str | None:
    """The first fenced block of any language; None without one. A block that is not closed reaches to the end."""
    found = _FENCE.search(reply)
    if found is not None:
        return found[2].strip("\n")
    opened = _OPEN.search(reply)
    return reply[opened.end() :].partition(opened[1])[0].strip("\n") if opened is not None else None
