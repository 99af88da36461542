"""A skill with the files of its package as one document: what is edited, measured, compared and kept is all of it.

    …SKILL.md…
    <!-- SKILLOPT_FILE references/kinds.md (body) -->
    …the file, byte for byte…
    <!-- SKILLOPT_END_FILE -->

Only files that may be edited stand in it: `body` keeps a head as it is (a YAML header, a `#!` line), `free` gives
all of it away. The marker lines are read-only for edits (`core.skill`). Taking the document apart gives the same bytes
that went in, whatever their line ends, and a text without a marker is a skill alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, cast

from skillopt.core.errors import DataError

Policy = Literal["off", "body", "free"]
POLICIES: tuple[Policy, ...] = ("off", "body", "free")

MARKS = ("<!-- SKILLOPT_FILE ", "<!-- SKILLOPT_END_FILE -->")
_FILE = re.compile(
    r"\n<!-- SKILLOPT_FILE (?P<path>[^\n]+) \((?P<policy>body|free)(?P<run>, executable)?\) -->\n"
    r"(?P<content>.*?)\n<!-- SKILLOPT_END_FILE -->\n",
    re.DOTALL,
)
_HEAD = re.compile(r"\A(?:\ufeff?---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)|#![^\n]*(?:\n|\Z))")


@dataclass(frozen=True)
class PackagedFile:
    """A file that may be edited, beside SKILL.md. `start` and `end` are its place in the document it was read from."""

    path: str
    content: str
    policy: Policy = "body"
    executable: bool = False
    start: int = 0
    end: int = 0

    @property
    def editable(self) -> int:
        """Where in the document editing may begin: behind the head of a `body` file."""
        head = _HEAD.match(self.content) if self.policy == "body" else None
        return self.start + (head.end() if head else 0)


def bundled(text: str, files: Iterable[PackagedFile]) -> str:
    """The document of a SKILL.md and the files that may be edited. Raises `DataError` for a text with our markers.

    >>> bundled("Read kinds.md.\\n", [PackagedFile("kinds.md", "red\\n")]).splitlines()[2]
    '<!-- SKILLOPT_FILE kinds.md (body) -->'
    """
    parts = [text]
    for file in files:
        for name, content in (("SKILL.md", text), (file.path, file.content)):
            if any(mark in content for mark in MARKS):
                raise DataError(f"{name} holds a line that marks files of a package", hint="take the line out")
        mode = ", executable" if file.executable else ""
        parts.append(f"\n{MARKS[0]}{file.path} ({file.policy}{mode}) -->\n{file.content}\n{MARKS[1]}\n")
    return "".join(parts)


def split(text: str) -> tuple[str, str]:
    """(SKILL.md, the files' part); the second is blank for a skill alone, or where the part is not whole to its end."""
    if MARKS[0] not in text:
        return text, ""
    first = _FILE.search(text)
    at = first.start() if first else len(text)
    while at < len(text) and (match := _FILE.match(text, at)):
        at = match.end()
    if first is None or at != len(text):
        return text, ""
    return text[: first.start()], text[first.start() :]


def skill_part(text: str) -> str:
    """SKILL.md alone."""
    return split(text)[0]


def packaged(text: str) -> tuple[PackagedFile, ...]:
    """The files of a document, in order; none for a skill alone."""
    body, tail = split(text)
    found: list[PackagedFile] = []
    for match in _FILE.finditer(tail):
        start, end = (len(body) + at for at in match.span("content"))
        policy = cast("Policy", match["policy"])
        found.append(PackagedFile(match["path"], match["content"], policy, bool(match["run"]), start, end))
    return tuple(found)


def with_skill_part(text: str, body: str) -> str:
    """The document with another SKILL.md; the files stay."""
    return body + split(text)[1]


def policy_of(path: str, rules: Iterable[tuple[str, Policy]]) -> Policy:
    """What may be done to a file: the last rule whose pattern fits decides, and without one nothing.

    >>> policy_of("references/kinds.md", [("references/**", "body"), ("*.py", "free")])
    'body'
    """
    decided: Policy = "off"
    for pattern, policy in rules:
        if _fits(path, pattern):
            decided = policy
    return decided


def _fits(path: str, pattern: str) -> bool:
    """`dir/**` is everything below, `**` everything; other patterns as in a shell, `*` within one folder's names."""
    if pattern == "**" or (pattern.endswith("/**") and path.startswith(pattern[:-2])):
        return True
    if "/" in pattern:
        parts, wanted = path.split("/"), pattern.split("/")
        return len(parts) == len(wanted) and all(
            PurePosixPath(part).match(want) for part, want in zip(parts, wanted, strict=True)
        )
    return PurePosixPath(path).match(pattern)


def read_rules(text: str) -> tuple[tuple[str, Policy], ...]:
    """Rules as they are written: `references/**=body scripts/*.py=free`. Raises `ValueError` naming what is no rule.

    >>> read_rules("references/**=body, scripts/*.py=free")
    (('references/**', 'body'), ('scripts/*.py', 'free'))
    """
    rules: list[tuple[str, Policy]] = []
    for rule in text.replace(",", " ").split():
        pattern, sign, policy = rule.rpartition("=")
        if not sign or not pattern or policy not in POLICIES:
            raise ValueError(f"{rule!r} is no rule PATTERN=POLICY, with one of {', '.join(POLICIES)}")
        rules.append((pattern, policy))
    return tuple(rules)
