"""Why a run of an agent CLI gave no answer, sorted by what can be done about it.

Judged are the exit code, the error records and the error stream. The text of an answer is never searched: a good answer
may well speak of invalid API keys. What a program prints outside its records is no answer either; it is looked at only
when the records hold neither an answer nor an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from skillopt.core.replies.ending import ending_of
from skillopt.core.shorten import shorten_tail

Kind = Literal[
    "auth", "model", "client", "quota", "request", "start",
    "context", "rate", "overload", "network", "server", "aborted", "turns", "cut", "silent", "crash",
]  # fmt: skip

FATAL: frozenset[str] = frozenset({"auth", "model", "client", "quota", "request", "start"})
"""Repeating cannot help, for this item or another: the run has to be told."""

BAD_ANSWERS: frozenset[str] = frozenset({"turns", "cut"})
"""The agent did answer, only not within what it was given: no fault of the infrastructure."""

_TAIL = 600

_BY_WORDS: tuple[tuple[Kind, str], ...] = (
    ("client", r"(?:update|upgrade) (?:to|your|the)\b.{0,60}\b(?:version|cli|client|codex|claude|copilot)"
               r"|(?:client|cli|version) (?:is )?(?:too old|outdated|no longer supported)"
               r"|requires a newer version|minimum (?:supported )?version|unsupported client"
               r"|unknown (?:option|argument)|unexpected argument|unrecognized (?:option|subcommand)|unknown variant"),
    ("cut", r"incomplete response returned, reason: max_output_tokens|exceeded the \d+ output token maximum"
            r"|response stopped due to (?:the )?token limit"),
    ("context", r"context (?:window|length)|maximum context|prompt is too long|too many tokens"
                r"|exceeds the model.s prompt budget|out of room"),
    ("quota", r"insufficient_quota|quota exceeded|exceeded your current quota|credit balance|billing"
              r"|usage limit|payment required"),
    ("auth", r"\b401\b|\b403\b|unauthori[sz]ed|forbidden|invalid (?:api[ _-]?)?key|incorrect api key|authenticat"
             r"|not logged in|log ?in\b|sign in\b|please run /login|no credentials|could not be refreshed|\bauth method"
             r"|token (?:is |has |was |been |already )*(?:expired|revoked|invalid|used)"
             r"|\bapi[ _-]key\b.{0,40}\b(?:missing|not set|required|invalid)|no api key"),
    ("model", r"\b404\b|model[^\n]{0,80}(?:not found|does not exist|not supported|unsupported|not available|unknown)"
              r"|unknown model|issue with the selected model|require an explicit model|^model: \S+$"),
    ("rate", r"\b429\b|rate.?limit|too many requests"),
    ("overload", r"overloaded|\b529\b|\b503\b|high demand"),
    ("server", r"\b5\d\d\b|internal server error|server error|no response was returned"),
    ("network", r"connection|error sending request|network|disconnected|timed out|timeout|econn\w+|enotfound|socket|dns"
                r"|(?:unable to|cannot) connect"),
    ("request", r"\b400\b|\b422\b|invalid_request|bad request"),
)  # fmt: skip
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.MULTILINE)) for kind, pattern in _BY_WORDS
)

_BY_STATUS: dict[int, Kind] = {
    400: "request", 401: "auth", 402: "quota", 403: "auth", 404: "model", 408: "network", 413: "context",
    422: "request", 429: "rate", 503: "overload", 529: "overload",
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """One failure with the program's own words, cut to their last part."""

    kind: Kind
    message: str

    @property
    def fatal(self) -> bool:
        """True when no repetition and no other item can help."""
        return self.kind in FATAL


def tail(text: str, limit: int = _TAIL) -> str:
    """The last part of a text, on one line, without secrets."""
    return shorten_tail(text, limit)


def classified(message: str, *, status: int | None = None) -> Failure:
    """Sort the words of a known failure. A status that the program reports decides, except where words say more."""
    words: Kind | None = next((kind for kind, pattern in _PATTERNS if pattern.search(message)), None)
    if status is not None:
        kind: Kind = _BY_STATUS.get(status) or ("server" if status >= 500 else "request")
        if words in ("quota", "context", "client") and status in (400, 402, 403, 413, 429):
            kind = words
        return Failure(kind, tail(message) or f"HTTP {status}")
    return Failure(words or "crash", tail(message) or "no words")


def exit_failure(exit_code: int, stderr: str, stdout: str) -> Failure:
    """A run that ended with an error code, or without any record, and left nothing but its streams."""
    words = stderr.strip() or stdout.strip()
    found = classified(words) if words else Failure("crash", "it printed nothing")
    how = f"exit code {exit_code}" if exit_code >= 0 else f"ended by signal {-exit_code}"
    return Failure(found.kind, f"{how}: {found.message}")


def ended_with(word: str) -> Failure | None:
    """What the word says with which a session's last reply ended; None for a whole answer, a refusal included.

    >>> ended_with("stop"), ended_with("max_tokens").kind, ended_with("cancelled").kind, ended_with("paused").kind
    (None, 'cut', 'aborted', 'aborted')
    """
    ending = ending_of(word)
    if ending in ("stop", "refusal"):
        return None
    if ending == "length":
        return Failure("cut", f"the last reply was cut off at its limit of tokens ({tail(word)})")
    if ending == "tool_calls":
        return Failure("aborted", "the session ended with a tool's call and no answer")
    known = "" if ending == "failed" else ", a word that nobody here knows"
    return Failure("aborted", f"the last reply ended with {tail(word, 60)!r}{known}")
