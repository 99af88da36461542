"""What must not stand in a skill: secrets, broken markers, characters nobody sees, and orders from elsewhere.

URLs, commands and calls to disregard instructions are no faults by themselves. In a text that grew out of another they
are worth a look when the first text did not have them: a trajectory may have talked the optimizer into them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from skillopt.core.lint.finding import Document, Finding
from skillopt.core.redact import redact_reply, secret_spans
from skillopt.core.skill import APPENDIX, SLOW_UPDATE, Skill

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\U000e0000-\U000e007f]")
_URL = re.compile(r"https?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_COMMAND = re.compile(
    r"(?:(?<![\w-])(?:curl|wget|sudo|chmod|chown|scp|ssh|nc|powershell|certutil|mkfs|dd)\s+\S+"
    r"|(?<![\w-])rm\s+-[a-zA-Z]*[rf]\S*"
    r"|(?<![\w-])(?:bash|sh|zsh|python3?|node|perl)\s+-[ce]\s"
    r"|\|\s*(?:ba|z)?sh\b"
    r"|(?<![\w-])base64\s+(?:-d|--decode)\b"
    r"|(?i:\b(?:invoke-webrequest|invoke-expression|iex)\b)"
    r"|(?<![\w.])(?:eval|exec|os\.system|subprocess\.\w+)\()"
)
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|system|all other|safety)\b"
    r"[^.\n]{0,30}\b(?:instructions?|rules?|prompts?|messages?|guidelines?|polic(?:y|ies))\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"your|example|placeholder|changeme|xxxx|\.\.\.|[<>{}$*…]", re.IGNORECASE)
"""Documentation shows where a key goes; such a value opens nothing."""
_PUBLIC = re.compile(
    r"(?i)(?:\b(?:gpg|pgp|fingerprint)\b[^\n]{0,30}\b[0-9a-f]{40}|\b(?:page|next|continuation)[-_ ]?token\W{1,3}\S+"
    r"|//(?:user(?:name)?|login):(?:pass(?:word)?|secret|pw))$"
)
"""The fingerprint of a key, the place in a list, and the password of nobody."""
_REGIONS = (("slow-update", SLOW_UPDATE), ("appendix", APPENDIX))


def safety_rules(document: Document) -> Iterator[Finding]:
    """Secrets, markers, invisible characters, and what came from elsewhere."""
    text = document.text
    for start, end in secret_spans(text):
        if _PLACEHOLDER.search(text[start:end]):
            continue
        around = text[text.rfind("\n", 0, start) + 1 : end]
        if _PUBLIC.search(around):
            continue
        certain = redact_reply(around) != around
        yield Finding(
            "secret" if certain else "secret.likely",
            "error" if certain else "warning",
            _line(text, start),
            "a key or a password" if certain else "a value that may be a key or a password",
            "remove it, and revoke it if it was real",
            text[start:end],
        )
    yield from _markers(document)
    for n, line in enumerate(document.lines, start=1):
        if found := _CONTROL.search(line):
            yield Finding(
                "text.control",
                "error",
                n,
                f"the control character U+{ord(found[0]):04X}",
                "remove it; YAML and JSON readers refuse it",
                found[0],
            )
        if found := _INVISIBLE.search(line):
            yield Finding(
                "text.invisible",
                "warning",
                n,
                f"the invisible character U+{ord(found[0]):04X}",
                "remove it; what a person cannot see may still instruct a model",
                found[0],
            )
    yield from _overrides(document)
    if document.base is not None:
        yield from _foreign(document, document.base)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _markers(document: Document) -> Iterator[Finding]:
    text = document.text
    for name, (start, end) in _REGIONS:
        open_at: int | None = None
        whole = 0
        for found in re.finditer(f"{re.escape(start)}|{re.escape(end)}", text):
            at = _line(text, found.start())
            if found[0] == start:
                if open_at is not None:
                    yield _marker(name, at, f"a second start of the {name} region inside the first")
                open_at = at if open_at is None else open_at
            elif open_at is None:
                yield _marker(name, at, f"the end of a {name} region that never starts")
            else:
                open_at, whole = None, whole + 1
                if whole == 2:
                    yield _marker(name, at, f"a second {name} region; only the first is used")
        if open_at is not None:
            yield _marker(name, open_at, f"the {name} region starts and never ends")
    skill = Skill(text)
    for span in skill.regions:
        tail = text[span.end :]
        if any(s.start >= span.end for s in skill.regions) or not tail.strip():
            continue
        yield Finding(
            "markers.place",
            "warning",
            _line(text, span.start),
            "text stands behind the last protected region",
            "move the region to the end of the document",
        )


def _marker(region: str, line: int, message: str) -> Finding:
    return Finding("markers", "error", line, message, "keep one pair of markers, start before end", region + message)


def _overrides(document: Document) -> Iterator[Finding]:
    known = {" ".join(m[0].casefold().split()) for m in _OVERRIDE.finditer(document.base or "")}
    for n, line in document.body:
        found = _OVERRIDE.search(line)
        if found and " ".join(found[0].casefold().split()) not in known:
            yield Finding(
                "foreign.override",
                "warning",
                n,
                f"reads like an order to drop instructions: {found[0]!r}",
                "make sure that no task or trajectory put it there",
                found[0],
            )


def _foreign(document: Document, base: str) -> Iterator[Finding]:
    hosts = Counter(_host(url) for url in _URL.findall(base))
    commands = {" ".join(m[0].split()) for m in _COMMAND.finditer(base)}
    for n, line in enumerate(document.lines, start=1):
        for url in _URL.findall(line):
            if _host(url) not in hosts:
                yield Finding(
                    "foreign.url",
                    "warning",
                    n,
                    f"an address that the initial skill did not name: {url[:100]}",
                    "check that it belongs there",
                    url,
                )
        for found in _COMMAND.finditer(line):
            if " ".join(found[0].split()) not in commands:
                yield Finding(
                    "foreign.command",
                    "warning",
                    n,
                    f"a command that the initial skill did not have: {found[0].strip()[:60]}",
                    "check what it does before an agent runs it",
                    found[0],
                )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:
        return url.casefold()
