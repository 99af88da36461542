"""Secrets out of any text that is about to be written, logged, shown or put into an error.

Two nets: the values this process was given (exact, whatever their shape) and the well-known shapes of keys. Prose about
keys stays as it is ("Invalid API key"): a label alone is never enough, a value must follow it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MARK = "[redacted]"
_MIN_SECRET = 6

# A value after a label: long enough and mixed enough not to be a word of prose.
_VALUE = r"(?=[^\s\"',;&]*\d)[A-Za-z0-9_\-.~+/=%]{12,}"
_LABEL = (
    r"(?:[a-z0-9]+[_-])*(?:api[_-]?key|apikey|access[_-]?token|refresh[_-]?token|auth[_-]?token|id[_-]?token|secret"
    r"|client[_-]?secret|access[_-]?key|subscription[_-]?key|account[_-]?key|password|passwd|pwd)"
)

_WHOLE = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{16,}",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bAIza[A-Za-z0-9_-]{30,}",
        r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
        r"\bhf_[A-Za-z0-9]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{20,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"\bya29\.[A-Za-z0-9_-]{20,}",
        r"\b(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{30,}",
        r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    )
]

# Each keeps its first group (the label) and drops the value behind it.
_LABELLED = [
    re.compile(r"(?i)(\bbearer\s+)(?=[^\s\"',;]*(?:[\d=_]|[.-]\w))[A-Za-z0-9_\-.~+/=]{8,}"),
    re.compile(r"(?i)(\bbasic\s+)(?=[^\s\"',;]*[\d=])[A-Za-z0-9_\-.~+/=]{8,}"),  # prose: "basic error-handling."
    re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"',;]+"),
    re.compile(rf"(?i)([\"']{_LABEL}[\"']\s*:\s*[\"'])(?:\\.|[^\"'\\])+(?=[\"'])"),
    re.compile(rf"(?i)(\b{_LABEL}\s*[=:]\s*[\"']?){_VALUE}"),
    re.compile(r"(?i)(\b(?:x-)?api-key[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9_\-.]{8,}"),
    re.compile(r"(?i)(\bkey\b[\"']?\s*[:=]\s*[\"']?)(?:[0-9a-f]{32}|[A-Za-z0-9]{84})\b"),
    re.compile(r"(?i)([?&](?:key|sig|token|api[_-]?key|access_token)=)[^&\s\"']{8,}"),
]
_URL = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:\"']*:[^\s/@\"']+@")


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """`text` with every given secret (six characters or more) and every key-shaped value replaced by `[redacted]`."""
    for secret in sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len, reverse=True):
        text = text.replace(secret, MARK)
    for pattern in _WHOLE:
        text = pattern.sub(MARK, text)
    for pattern in _LABELLED:
        text = pattern.sub(rf"\g<1>{MARK}", text)
    return _URL.sub(rf"\g<1>{MARK}@", text)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where key-shaped values stand (half-open, without their labels), in order, overlapping ones joined."""
    found = [match.span() for pattern in _WHOLE for match in pattern.finditer(text)]
    found += [(match.end(1), match.end()) for pattern in _LABELLED for match in pattern.finditer(text)]
    found += [(match.end(1), match.end() - 1) for match in _URL.finditer(text)]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
