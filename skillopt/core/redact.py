"""Secrets out of any text that is about to be written, logged, shown or put into an error.

Three nets: the values this process was given (exact, whatever their shape), shapes that only keys have, and values
behind a label that says what they are. Prose about keys stays as it is ("Invalid API key"): a label alone is never
enough, a value must follow it. `redact` is for what people read about a run; `redact_reply` for what a model said,
which is data: it takes out only what nobody could mean by anything but a key. Both are pure and idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

MARK = "[redacted]"
_MIN_SECRET = 6
_MIN_ENVIRONMENT = 12
"""Shorter values of the environment are switches and words, not keys."""

# A value after a label: long enough and mixed enough not to be a word of prose.
_VALUE = r"(?=[^\s\"',;&]*\d)[A-Za-z0-9_\-.~+/=%]{12,}"
_KEY_VALUE = r"(?=[^\s\"',;&]*\d)(?=[^\s\"',;&]*[A-Za-z])[A-Za-z0-9_\-.~+/=%]{16,}"
_LABEL = (
    r"(?:[a-z0-9]+[_-])*(?:api[_-]?key|apikey|access[_-]?token|refresh[_-]?token|auth[_-]?token|id[_-]?token|secret"
    r"|client[_-]?secret|access[_-]?key|subscription[_-]?key|account[_-]?key|session[_-]?token|private[_-]?key"
    r"|password|passwd|pwd)"
)

_W, _B = r"[A-Za-z0-9_-]", r"[A-Za-z0-9]"
_SHAPES = (
    # Model providers
    rf"sk-(?=(?:{_W})*\d)(?:ant-|proj-|or-v1-|or-|svcacct-|admin-|lf-)?{_W}{{16,}}",
    rf"(?:gsk|r8|hf|fw|pcsk)_{_W}{{20,}}",
    rf"(?:xai|pplx|nvapi|csk|tvly)-(?=(?:{_W})*\d){_W}{{20,}}",
    rf"lsv2_(?:pt|sk)_{_W}{{20,}}",
    rf"api_org_{_B}{{20,}}",
    # Clouds
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"1//0[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"[A-Za-z0-9]{20,}(?:JQQJ99|AzureML)[A-Za-z0-9]{20,}",
    r"[A-Za-z0-9_-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}",
    r"(?:dop|doo|dor)_v1_[a-f0-9]{40,}",
    r"dapi[a-f0-9]{32}(?:-\d)?",
    # Code and packages
    rf"gh[pousr]_{_B}{{20,}}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    rf"gl(?:pat|dt|rt|soat|cbt|ptt|ft|agent)-{_W}{{16,}}",
    rf"npm_{_B}{{30,}}",
    rf"pypi-AgEI{_W}{{20,}}",
    rf"dckr_(?:pat|oat)_{_W}{{20,}}",
    rf"(?:sntrys|sntryu)_{_W}{{20,}}",
    rf"(?:nfp|sbp|figd|PMAK|NRAK|HRKU|pul|lin_api|glsa|ntn|shpat|shpss|shpca)[-_](?=(?:{_W})*\d){_W}{{20,}}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}",
    # Messages, money, vaults
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Za-z0-9-]{20,}",
    rf"(?:sk|rk)_(?:live|test)_{_B}{{16,}}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    rf"sq0(?:atp|csp)-{_W}{{20,}}",
    r"\d{8,10}:AA[A-Za-z0-9_-]{30,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{30,}",
    r"ATATT3[A-Za-z0-9_=-]{30,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    # Signed tokens
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)
# A key begins a word; a letter before it may belong to an escape (`\\n` in JSON text, `%20` in a URL).
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_ANY_SHAPE = re.compile(rf"{_START}(?:{'|'.join(_SHAPES)})")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
)
_WHOLE = (_PRIVATE_KEY, _ANY_SHAPE)

# Each keeps its first group (the label) and drops the value behind it. Quotes may be escaped: JSON inside JSON.
_CERTAIN = (
    re.compile(r"(https://hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]{16,}"),
    re.compile(
        r"(?i)(authorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?:bearer|basic|token)\s+)(?!\[redacted\])[^\s\"',;]{8,}"
    ),
    re.compile(r"(?i)(\b(?:bearer|basic)\s+)(?=[^\s\"',;]*\d)(?=[^\s\"',;]*[a-z])[A-Za-z0-9_\-.~+/=]{16,}"),
    re.compile(rf"(?i)(\b{_LABEL}\\*[\"']?\s*[=:]\s*\\*[\"']?){_KEY_VALUE}"),
    re.compile(
        r"(?i)(\b(?:x-)?(?:api-)?key\\*[\"']?\s*[:=]\s*\\*[\"']?)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[a-z0-9]{84})\b"
    ),
    re.compile(r"(?i)([?&](?:key|sig|token|api[_-]?key|access_token)=)(?=[^&\s\"']*\d)[^&\s\"']{16,}"),
)
_LIKELY = (
    re.compile(r"(?i)(\bbearer\s+)(?=[^\s\"',;]*(?:[\d=_]|[.-]\w))[A-Za-z0-9_\-.~+/=]{8,}"),
    re.compile(r"(?i)(\bbasic\s+)(?=[^\s\"',;]*[\d=])[A-Za-z0-9_\-.~+/=]{8,}"),  # prose: "basic error-handling."
    re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"',;]+"),
    re.compile(rf"(?i)([\"']{_LABEL}[\"']\s*:\s*[\"'])(?:\\.|[^\"'\\])+(?=[\"'])"),
    re.compile(rf"(?i)(\b{_LABEL}\s*[=:]\s*[\"']?){_VALUE}"),
    re.compile(r"(?i)(\b(?:x-)?api-key[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9_\-.]{8,}"),
    re.compile(r"(?i)([?&](?:key|sig|token|api[_-]?key|access_token)=)[^&\s\"']{8,}"),
)
_URL = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:\"']*:[^\s/@\"']+@")
_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|password|passwd|passphrase|credentials?|_pat|_pwd|_auth|dsn)s?$")


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """`text` with every given secret (six characters or more) and every key-shaped value replaced by `[redacted]`."""
    text = redact_reply(text, secrets)
    for pattern in _LIKELY:
        text = pattern.sub(rf"\g<1>{MARK}", text)
    return text


def redact_reply(text: str, secrets: Collection[str] = ()) -> str:
    """`text` without the given secrets and without what can only be a key; labelled words and placeholders stay."""
    for secret in sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len, reverse=True):
        text = text.replace(secret, MARK)
    for pattern in _WHOLE:
        text = pattern.sub(MARK, text)
    for pattern in _CERTAIN:
        text = pattern.sub(rf"\g<1>{MARK}", text)
    return _URL.sub(rf"\g<1>{MARK}@", text)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where key-shaped values stand (half-open, without their labels), in order, overlapping ones joined."""
    found = [match.span() for pattern in _WHOLE for match in pattern.finditer(text)]
    found += [(match.end(1), match.end()) for pattern in (*_CERTAIN, *_LIKELY) for match in pattern.finditer(text)]
    found += [(match.end(1), match.end() - 1) for match in _URL.finditer(text)]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def environment_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the variables whose names say that they are secret; paths, addresses and short words are not."""
    return tuple(
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name)
        and len(value) >= _MIN_ENVIRONMENT
        and not value.startswith(("/", "~", "."))
        and "://" not in value
        and any(c.isdigit() for c in value)
    )
