"""Texts of others cut to a length, never through a secret.

Everything is redacted first and cut then. What redaction cannot know (a credential without shape or label) is not cut
in half either: a cut falls between words, so that an exact secret is whole, and found later, or gone.
"""

from __future__ import annotations

from collections.abc import Collection

from skillopt.core.redact import redact

_MARGIN = 65_536
"""Characters behind the cut that redaction sees: more than any key is long."""
_KEY = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=%")
_LEFT_OUT = "…"


def shorten(text: str, limit: int, secrets: Collection[str] = ()) -> str:
    """The first part of a text on one line of at most `limit` characters, without secrets."""
    line = " ".join(redact(text[: limit + _MARGIN], secrets).split())
    if len(line) <= limit and len(text) <= limit + _MARGIN:
        return line
    return line[: _cut_before(line, limit - 1)] + _LEFT_OUT


def shorten_tail(text: str, limit: int, secrets: Collection[str] = ()) -> str:
    """The last part of a text on one line, without secrets; `… ` stands before it when something was left out."""
    seen = text[-(limit + _MARGIN) :]
    line = " ".join(redact(seen, secrets).split())
    if len(line) <= limit and len(seen) == len(text):
        return line
    return f"{_LEFT_OUT} {line[_cut_behind(line, max(0, len(line) - limit)) :].lstrip()}"


def shorten_middle(text: str, limit: int, secrets: Collection[str] = ()) -> str:
    """Head and tail of a long text, line breaks kept, without secrets; a note tells how much is missing."""
    seen = limit + _MARGIN
    if len(text) > 2 * seen:  # the rest is not searched: a flood of output held the loop for seconds
        first, last = redact(text[:seen], secrets), redact(text[-seen:], secrets)
        first, last = first[: _cut_before(first, limit * 2 // 3)], last[_cut_behind(last, len(last) - limit // 3) :]
        return f"{first}\n[… {len(text) - len(first) - len(last)} characters left out …]\n{last}"
    clean = redact(text, secrets)
    if len(clean) <= limit:
        return clean
    head = _cut_before(clean, limit * 2 // 3)
    tail = _cut_behind(clean, len(clean) - limit // 3)
    return f"{clean[:head]}\n[… {tail - head} characters left out …]\n{clean[tail:]}"


def _cut_before(text: str, at: int) -> int:
    """The place at or before `at` where no word is cut."""
    if at >= len(text) or text[at] not in _KEY:
        return min(at, len(text))
    while at > 0 and text[at - 1] in _KEY:
        at -= 1
    return at


def _cut_behind(text: str, at: int) -> int:
    """The place at or behind `at` where no word is cut."""
    if at <= 0 or text[at - 1] not in _KEY:
        return max(at, 0)
    while at < len(text) and text[at] in _KEY:
        at += 1
    return at
