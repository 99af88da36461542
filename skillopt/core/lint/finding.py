"""What a lint rule looks at and what it says.

A rule is a function of a `Document` to findings. It reads no file: the header comes parsed (by a real YAML parser, on a
higher floor), and whether a file exists is asked of a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.skill import MARKERS, Skill

Severity = Literal["error", "warning"]

_FENCE = re.compile(r"^\s*(?:[-*+>]\s+)*(`{3,}(?![^\n]*`)|~{3,})")
"""A line with more backticks behind the first ones is code inside a sentence, and opens nothing."""


@dataclass(frozen=True)
class Finding:
    """One violation. `line` counts from 1; 0 means the document as a whole. `subject` tells findings of one rule apart
    when their lines have moved."""

    rule: str
    severity: Severity
    line: int
    message: str
    hint: str = ""
    subject: str = ""

    def __str__(self) -> str:
        """As the reason of a veto."""
        return f"would make an error ({self.rule}): {self.message}"

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json` and for reports of vetoed edits. The subject is left out: it may be a secret."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "line": self.line,
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True)
class Header:
    """A YAML header as a strict parser read it: its values and their lines, or the parser's complaint."""

    values: JsonObject = field(default_factory=dict[str, JsonValue])
    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    problem: str = ""
    problem_line: int = 1
    cut: Mapping[str, str] = field(default_factory=dict[str, str])
    """What YAML drops behind ` #` on the line of a key's value, by key."""
    repeated: tuple[str, ...] = ()
    """Keys that stand more than once."""


@dataclass(frozen=True)
class Document:
    """A skill's text, exactly as it is or will be on disk, and what is known around it."""

    text: str
    header: Header | None = None
    """None when the text has no header."""
    file_name: str = ""
    directory_name: str = ""
    exists: Callable[[str], bool] | None = None
    """Whether a path relative to the skill exists; None when nobody knows."""
    base: str | None = None
    """The text it grew out of, for rules about what was added."""
    tokens: int | None = None
    """Likely number of tokens, when somebody counted."""

    @property
    def is_skill_file(self) -> bool:
        """True for the file that agents look for."""
        return self.file_name == "SKILL.md"

    @cached_property
    def lines(self) -> list[str]:
        """All lines, without line ends."""
        return [line.rstrip("\r") for line in self.text.split("\n")]

    @cached_property
    def body(self) -> list[tuple[int, str]]:
        """Numbered lines of prose: header, fenced code and markers of protected regions left out."""
        header = Skill(self.text).header
        first = self.text.count("\n", 0, header.end) + 1 if header else 1
        out: list[tuple[int, str]] = []
        fence = ""
        for n, line in enumerate(self.lines[first - 1 :], start=first):
            mark = _FENCE.match(line)
            if fence:
                closes = mark is not None and mark[1].startswith(fence) and line.rstrip().endswith(mark[1])
                fence = "" if closes else fence
            elif mark is not None:
                fence = mark[1]
            elif line.strip() not in MARKERS:
                out.append((n, line))
        return out


Rule = Callable[[Document], Iterator[Finding]]
