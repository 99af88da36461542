"""Secrets that only their surroundings tell: values behind a label, in a header, a cookie or a signed address.

Every pattern keeps its first group (the label) and covers the value behind it. `CERTAIN` ones hold in data too,
`LIKELY` ones are for what people read about a run. Places, placeholders and prose are no values: `PWD=/home/me`,
`Bearer <token>`, "Invalid API key". Quotes may be escaped (JSON inside JSON). Looks ahead are bounded, so that no text,
however made, takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

_GAP = r"\\*[\"']?\s{0,20}[:=]\s{0,20}\\*[\"']?"
_NO_PLACEHOLDER = (
    r"(?!<|\$|\{|\[|%[a-z(]|\*{3}|x{4}|\.{3}|your|my[_-]|insert|replace|example|placeholder|os\.|process\.|env\.|\.env"
    r"|(?-i:[A-Z]{2,20}(?:_[A-Z]{2,20}){1,6}\b)|token\b|api[_-]?key\b)"
)
"""What stands in examples where a key goes."""
_PLACE = r"(?:(?:~|\.\.?)/|/[a-z][\w.-]{0,60}/|[a-z]:[\\/])"
_NO_CODE = (
    r"(?![A-Za-z_][A-Za-z0-9_.]{0,200}[(\[]"
    r"|(?-i:[A-Za-z_]\w{0,23}(?:\.[A-Za-z_]\w{0,23}){1,6}(?![\w\-.~+/=%])"
    r"|[a-z][a-z0-9]{0,20}(?:_[a-z][a-z0-9]{0,20}){1,8}(?![\w\-.~+/=%])))"
)
"""A call, an attribute, a variable: `key = rsa.generate_private_key(65537)`, `key: ed25519.Key`, `key=v2_token`."""
_NO_PLACE = rf"(?!{_PLACE}){_NO_CODE}"
"""Where a key lies is no key: `private_key=/etc/ssl/key1.pem`."""
_MIXED = r"(?=[^\s\"',;&]{0,400}\d)(?=[^\s\"',;&]{0,400}[A-Za-z])"
_TOKEN = rf"{_NO_PLACEHOLDER}{_MIXED}[A-Za-z0-9_\-.~+/=%]{{16,}}"
_KEY_VALUE = rf"{_NO_PLACE}{_TOKEN}"
_VALUE = rf"{_NO_PLACE}{_NO_PLACEHOLDER}(?=[^\s\"',;&]{{0,400}}\d)[A-Za-z0-9_\-.~+/=%]{{12,}}"
_LABEL = (
    r"(?:api[_-]?key"
    r"|(?:access|refresh|auth|id|session|security|csrf|xsrf|vault|private|subscription|bot|deploy|api)[_-]?token|(?<!\d:)secret"
    r"|(?:access|subscription|account|private|functions|signing|encryption|master|shared)[_-]?key|password|passwd"
    rf"|passphrase|pwd(?={_GAP}(?![/~.]|[a-z]:)))"
)
_SIGNED = (
    r"(?:(?:x-(?:amz|goog|ms|oss|cos|obs|tos)-)?(?:signature|credential|security-token)|q-signature|sig|hmac"
    r"|(?:aws|oss)accesskeyid|key-pair-id|rlkey|hdn(?:ts|ea)|key|token|jwt|api[_-]?(?:key|token)"
    r"|(?:access|id|refresh|auth|session)[_-]?token|(?:client|app)[_-]?secret|secret|password|pwd|sid|session(?:id)?)"
)
"""Parameters of an address that let its holder in."""
_COOKIE = (
    r"(?:(?:j|php|asp\.net_|aspx)?sess(?:ion)?_?id|connect\.sid|laravel_session|_session_id|csrftoken|xsrf-token"
    r"|auth_token|remember_token|__secure-[\w.-]{1,40}|__host-[\w.-]{1,40})"
)
"""Names of cookies that log somebody in, wherever they stand."""

_NAMED_SECRET = r"[\w:.-]{0,40}(?:api_?key|access_?key|secret_?key|token|secret|password)"
"""An element whose text is one."""

CERTAIN: tuple[re.Pattern[str], ...] = (
    re.compile(r"(https://hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/_-]{16,}"),
    re.compile(r"(https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/\d{1,30}/)[\w-]{40,}"),
    re.compile(r"(https://[\w.-]{1,80}\.webhook\.office\.com/webhookb2/)[\w@/-]{40,}"),
    re.compile(r"(https?://)[0-9a-f]{32}(?=@)"),
    re.compile(r"(?i)(\blogin\s{1,20}(?![/|&])\S{1,100}\s{1,20}password\s{1,20})\S{4,}"),
    re.compile(rf"(?i)([\"']auth\\*[\"']\s*:\s*\\*[\"']){_TOKEN}"),
    re.compile(rf"(?i)(\b(?:client-key|private-key)-data\s*:\s*[\"']?){_TOKEN}"),
    re.compile(rf"(\b[A-Z][A-Z0-9_]{{0,60}}_(?:TOKEN|SECRET|KEY|PASSWORD|PASS|PAT)=[\"']?){_KEY_VALUE}"),
    re.compile(rf"(?i)(--[\w-]{{0,40}}(?:password|passwd|token|secret|api-?key|access-?key)(?:=|\s{{1,20}})[\"']?){_KEY_VALUE}"),
    re.compile(rf"(?i)(<{_NAMED_SECRET}>\s{{0,20}}){_TOKEN}(?=\s{{0,20}}</)"),
    re.compile(rf"(?i)(\bname\s?=\s?\\*[\"'][\w.-]{{0,40}}(?:token|csrf|xsrf|secret|password)[\w.-]{{0,40}}\\*[\"'][^<>]{{0,80}}?value\s?=\s?\\*[\"']){_TOKEN}"),
    re.compile(r"(PuTTY-User-Key-File-\d[\s\S]{0,4000}?Private-Lines: \d{1,4})(?:\s+[A-Za-z0-9+/=]{20,64})+"),
    re.compile(rf"(?i)(authorization{_GAP}(?:bearer|basic|token)\s+){_NO_PLACEHOLDER}[^\s\"',;]{{8,}}"),
    re.compile(rf"(?i)(authorization{_GAP})(?!(?:bearer|basic|token|digest|aws4|goog4|oss4|acs3)\b){_TOKEN}"),
    re.compile(r"(?i)((?:aws4|goog4|oss4|acs3)-[\w-]{4,20}\s[^\r\n]{0,600}?signature=)[0-9a-f]{32,}"),
    re.compile(rf"(?i)((?:bearer|basic)\s+)(?=[^\s\"',;]{{0,400}}\d)(?=[^\s\"',;]{{0,400}}[a-z]){_TOKEN}"),
    re.compile(rf"(?i)({_LABEL}{_GAP}){_KEY_VALUE}"),
    re.compile(r"(?i)(key\\*[\"']?\s*[:=]\s*\\*[\"']?)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[a-z0-9]{84})\b"),
    re.compile(rf"(?i)(\bx-[\w-]{{0,40}}(?:token|secret|signature(?:-256)?|credential)(?:{_GAP}|%3d)(?:sha\d+=)?){_NO_CODE}{_TOKEN}"),
    re.compile(rf"(?i)((?:[?&;]|&amp;|%26|\\u0026){_SIGNED}(?:=|%3d))(?=[^&\s\"']{{0,400}}\d){_NO_PLACEHOLDER}[^&\s\"'<>\\`|()[\]{{}}]{{16,}}"),
    re.compile(rf"(?i)(\b{_COOKIE}{_GAP}){_TOKEN}"),
    re.compile(r"(?i)(\bstripe-signature\\*[\"']?\s*[:=][^\r\n]{0,60}v1=)[0-9a-f]{32,}"),
)  # fmt: skip
_Run = Literal["any", "long", "digit"]
_HELD: tuple[tuple[_Run, tuple[str, ...]], ...] = (
    ("long", ("hooks.slack.com/",)),
    ("long", ("discord",)),
    ("long", ("webhook.office.com",)),
    ("digit", ("://",)),
    ("any", ("login",)),
    ("digit", ("auth",)),
    ("digit", ("-data",)),
    ("digit", ("_token", "_secret", "_key", "_pass", "_pat")),
    ("digit", ("--",)),
    ("digit", ("key>", "token>", "secret>", "password>")),
    ("digit", ("value",)),
    ("long", ("putty-user-key",)),
    ("any", ("authorization",)),
    ("digit", ("authorization",)),
    ("long", ("signature=",)),
    ("digit", ("bearer", "basic")),
    ("digit", ("key", "token", "secret", "passw", "passphrase", "pwd")),
    ("long", ("key",)),
    ("digit", ("token", "secret", "signature", "credential")),
    ("digit", ("=", "%3d")),
    ("digit", ("sess", "sid", "csrf", "xsrf", "_token", "__secure-", "__host-")),
    ("long", ("stripe-signature",)),
)
"""For each certain pattern what every text that it covers holds: a run without blanks of sixteen characters (`long`),
with a digit in it (`digit`); and one of these words, in small letters."""
LIKELY: tuple[re.Pattern[str], ...] = (
    re.compile(rf"(?i)(\bbearer\s+){_NO_PLACEHOLDER}(?=[^\s\"',;]{{0,400}}(?:[\d=_]|[.-]\w))[A-Za-z0-9_\-.~+/=]{{8,}}"),
    re.compile(r"(?i)((?:\s-u|--user)[ =][\"']?[^\s:\"']{1,80}:)[^\s\"'/]{6,}"),
    re.compile(rf"(?i)(\b(?:password|passphrase|secret|api key|access key)\s+is\s+[\"'`]?){_VALUE}"),
    # Prose: "basic error-handling."
    re.compile(rf"(?i)(\bbasic\s+){_NO_PLACEHOLDER}(?=[^\s\"',;]{{0,400}}[\d=])[A-Za-z0-9_\-.~+/=]{{8,}}"),
    re.compile(rf"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+){_NO_PLACEHOLDER}[^\s\"',;]+"),
    re.compile(rf"(?i)([\"']{_LABEL}[\"']\s*:\s*[\"']){_NO_PLACE}(?:\\.|[^\"'\\])+(?=[\"'])"),
    re.compile(rf"(?i)({_LABEL}\s*[=:]\s*[\"']?){_VALUE}"),
    re.compile(rf"(?i)(\b(?:x-)?api-key[\"']?\s*[:=]\s*[\"']?){_NO_PLACEHOLDER}[A-Za-z0-9_\-.]{{8,}}"),
    re.compile(rf"(?i)([?&](?:{_SIGNED}|code)=){_NO_PLACEHOLDER}[^&\s\"']{{8,}}"),
    re.compile(rf"(?i)(\b[\w-]{{0,40}}(?:token|signature){_GAP}){_KEY_VALUE}"),
)

_DIGIT = re.compile(r"\d")
_COOKIES = re.compile(
    r"(?i)(?:\b(?:set-cookie2?|cookie)\b\\*[\"']?\s{0,20}[:=]\s{0,20}\\*[\"']?|--cookie\s{1,20}[\"']?)(?P<rest>[^\r\n\"'\\]{8,4096})"
)
_PAIR = re.compile(
    r"(?i)(?:^|;)\s*(?!(?:expires|max-age|path|domain|samesite|priority|version)=)[^=;,\s]{1,120}="
    rf"(?P<value>{_NO_PLACEHOLDER}(?=[^\s;,]{{0,400}}\d)[^\s;,]{{16,}})"
)


def certain_in(text: str) -> Iterator[re.Pattern[str]]:
    """The certain patterns that may hold something in a text: looking for words takes a hundredth of the time."""
    runs = [run for run in text.split() if len(run) >= 16]
    digit = any(_DIGIT.search(run) for run in runs)
    low = text.lower()
    if not low.isascii():  # a pattern that ignores case takes these for the letters
        low = low.replace("\u017f", "s").replace("\u0131", "i").replace("\u0307", "").replace("\u212a", "k")
    for (run, words), pattern in zip(_HELD, CERTAIN, strict=True):
        there = digit if run == "digit" else bool(runs) if run == "long" else True
        if there and any(word in low for word in words):
            yield pattern


def cookie_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the long values of cookie headers stand: each may be a session."""
    if "ookie" not in text and "OOKIE" not in text:
        return
    for header in _COOKIES.finditer(text):
        for pair in _PAIR.finditer(header["rest"]):
            yield header.start("rest") + pair.start("value"), header.start("rest") + pair.end("value")
