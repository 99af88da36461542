"""Secrets and personal details out of every text the companion keeps, sends or shows: `[redacted:<kind>]`.

Always on. What `core.redact` knows to be a secret is taken out here too, with the name of its kind; added are what a
person says in plain words ("the password is …"), signed addresses, e-mail addresses, telephone numbers, and the home
directory, which is written `~`. Redact first, cut afterwards: `clean` does both in this order. Pure and idempotent.
"""

from __future__ import annotations

import functools
import os
import re

from skillopt.core.redact import secret_spans, shape_spans

_MARK = "[redacted:{kind}]"
_KINDS: tuple[tuple[str, str], ...] = (
    ("-----BEGIN", "private-key"), ("sk-ant-", "anthropic"), ("sk_", "stripe"), ("rk_", "stripe"), ("sk-", "api-key"),
    ("AKIA", "aws"), ("ASIA", "aws"), ("gh", "github"), ("glpat-", "gitlab"), ("xox", "slack"), ("xapp-", "slack"),
    ("AIza", "google"), ("hf_", "huggingface"), ("npm_", "npm"), ("pypi-", "pypi"), ("SG.", "sendgrid"), ("eyJ", "jwt"),
)  # fmt: skip
"""What a secret begins with, and its kind; anything else is a `secret`."""

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,60}-----[^\n]*(?:\n[A-Za-z0-9+/=:, \t.-]{0,200}){0,400}?"
    r"(?:\n?-----END [A-Z0-9 ]{0,60}-----|\Z)"
)
_OPEN = r"(?!\[redacted)"
_VALUE = rf"{_OPEN}[^\s\"'`,;<>()\[\]{{}}]"
_IS = r"\\?[\"']?\s*[:=]\s*\\?[\"']?"
_ODD = r"(?=[^\s]{0,80}[\d!@#$%^&*_+=-])"
_NAMES = (
    r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token"
    r"|_token|_pwd|_pass|credential)s?"
)
_SAID = r"(?:password|passphrase|passcode|secret|pin|api key|access key)"
_HOST = r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}"
_ABROAD = r"\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("url-password", rf"([a-zA-Z][a-zA-Z0-9+.-]{{1,30}}://[^\s/@:\[\"']{{0,200}}:){_OPEN}[^\s/@\"']{{1,400}}(?=@)"),
        ("user-password", rf"((?:^|\s)(?:-u|--user)[ =][\"']?[^\s:\"']{{1,80}}:){_OPEN}[^\s\"']{{1,200}}"),
        ("authorization", rf"(?i)(\bauthorization{_IS}(?:[a-z]{{2,12}}\s+)?)(?=\S*[\d=]){_VALUE}{{6,}}"),
        ("bearer", rf"(?i)(\b(?:bearer|basic)\s+)(?=\S{{0,200}}[\d=]){_VALUE}{{12,}}"),
        ("cookie", rf"(?i)(\b(?:set-)?cookie\\?[\"']?\s*[:=]\s*){_OPEN}[^\r\n\"']{{6,4000}}"),
        ("signature", rf"(?i)([?&;]sig=|[?&;]signature=){_OPEN}[^&\s\"']{{8,}}"),
        ("account-key", rf"(?i)(\bAccountKey\s*=\s*){_OPEN}[^;\s\"']{{8,}}"),
        ("named", rf"(?i)(\b[\w.-]{{0,40}}{_NAMES}{_IS})(?![<$%{{]){_VALUE}{{4,}}"),
        ("prose", rf"(?i)(\b{_SAID}\s+(?:is|was|=|:)\s*(?:now\s+)?)[\"'`]?{_ODD}{_VALUE}{{6,200}}"),
        ("prose", rf"(?i)(\b(?:token|password|secret|key)\s+(?:is\s+)?[\"'`]?)(?=\S{{0,80}}\d){_VALUE}{{10,200}}"),
        ("email", rf"()(?<![\w.+-])[\w.+-]{{1,64}}@{_HOST}\b"),
        ("phone", rf"()(?<![\w.+/:-])(?:{_ABROAD}|\(\d{{3}}\) ?\d{{3}}-\d{{4}})(?![\w-])"),
    )
)
"""(kind, pattern): the first group stays."""
_TOKEN = r"[A-Za-z0-9+/_=-]*"
_ENTROPY = re.compile(
    rf"(?<![A-Za-z0-9/_+=-])(?={_TOKEN}\d)(?={_TOKEN}[a-z])(?={_TOKEN}[A-Z])[A-Za-z0-9+/_-]{{32,}}={{0,2}}"
)


_LABELLED = re.compile(
    r"(?i:(?:key|token|secret|passw|passp|passc|pwd|_pass|auth|sig|hmac|cred|dsn|sess|sid|jwt|csrf|xsrf|__host|__sec|_pat)"
    r"[\w.-]{0,60}\\*[\"'`]?\s{0,20}(?:[:=]|%3d))"
    r"|(?i:\b(?:token|password|passphrase|passcode|secret|key|pin)\s+[\"'`]?(?:is\b|was\b|[:=]|\S{0,200}\d))"
    r"|(?i:\b(?:bearer|basic)\s+\S{0,400}[\d=_.-])|(?i:cookie)|(?:^|\s)(?:-u|--user)[ =]"
    r"|(?i:webhook|https?://[0-9a-f]{32}@|(?:key|token|secret|password)>|name\s?=\s?\\*[\"'])|PuTTY-User"
    r"|[?&;][\w-]{1,60}=|%26|u0026|hooks\.slack"
)
"""Stands in every text in which a pattern finds a value by its label; most texts have none of it, and are quick."""
_LABEL_WORDS = (
    "key", "token", "secret", "passw", "passp", "passc", "_pass", "pwd", "auth", "sig", "hmac", "cred", "dsn", "sess",
    "sid", "jwt", "csrf", "xsrf", "__host", "__sec", "_pat", "pin", "bearer", "basic", "cookie",
    "webhook", "://", "putty", "-u", "=", "%26", "u0026", "hooks.slack",
)  # fmt: skip
"""One of them stands in every text that `_LABELLED` finds anything in."""
_PHONE = re.compile(r"\+\d|\(\d{3}\)")


def redact(text: str, *, home: str | None = None) -> str:
    """`text` without secrets and personal details; below `home` (the user's by default) paths begin with `~`."""
    here = _home() if home is None else home
    labelled = _is_labelled(text)
    spans = sorted(secret_spans(text) if labelled else shape_spans(text))
    for start, end in reversed(_joined(spans)):
        if "[redacted" not in text[max(0, start - 10) : end]:
            text = text[:start] + _MARK.format(kind=_kind(text[start:end])) + text[end:]
    if "-----BEGIN" in text:
        text = _PEM.sub(_MARK.format(kind="private-key"), text)
    held = {"url-password": "@" in text, "email": "@" in text, "phone": _PHONE.search(text) is not None}
    for kind, pattern in _PATTERNS:
        if not held.get(kind, labelled):
            continue
        text = pattern.sub(rf"\g<1>{_MARK.format(kind=kind)}", text)
    return _homeless(text, here)


def redact_strictly(text: str) -> str:
    """`redact`, and long tokens that look random besides: for staged documents."""
    return _ENTROPY.sub(_MARK.format(kind="token"), redact(text))


def clean(text: str, limit: int) -> str:
    """`text` redacted, then cut to `limit` characters: a secret that is cut is still one."""
    redacted = redact(text)
    return redacted if len(redacted) <= limit else redacted[: max(0, limit - 1)].rstrip() + "…"


def _is_labelled(text: str) -> bool:
    low = text.casefold()
    return any(word in low for word in _LABEL_WORDS) and _LABELLED.search(text) is not None


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted spans, overlapping ones as one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _kind(secret: str) -> str:
    return next((kind for start, kind in _KINDS if secret.startswith(start)), "secret")


@functools.lru_cache(maxsize=8)
def _below(home: str) -> re.Pattern[str]:
    return re.compile(re.escape(home) + r"(?=[/\\]|$|[\s\"'`:;,)])")


def _homeless(text: str, home: str) -> str:
    return _below(home).sub("~", text) if len(home) > 3 and home in text else text


def _home() -> str:
    return _home_of(os.environ.get("HOME"))


@functools.lru_cache(maxsize=8)
def _home_of(said: str | None) -> str:
    """The user's home directory; `said` is the variable that moves it."""
    del said
    return os.path.expanduser("~").rstrip("/\\")
