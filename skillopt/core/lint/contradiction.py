"""Two instructions of which one forbids what the other asks for.

Told only where both are whole instructions under one heading, about the same words in the same order of importance, and
neither says when it holds: descriptions, options of a command, wrapped prose, good and bad examples and conditions are
no contradictions, and a rule that calls them one is not believed where it is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from skillopt.core.lint.finding import Document, Finding
from skillopt.core.ngrams import words_of

_MIN_CONTENT, _SAME_TOPIC = 2, 0.8
_MAX_RULES = 600
_LIST = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6}\s")
_NO_INSTRUCTION = re.compile(
    r"[`|<>=\[\]{}?]|--\w|https?:|^\W*[✓✔✗✘❌✅]|\bin case\b|(?:^|\W)(?:good|bad|wrong|right|example|e\.g\.)\s*:",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[:,;(]\s*$")
_NEGATED = re.compile(
    r"(?:you\s+)?(?:(?:must|should|shall|may|can)\s*(?:not|n['’]?t)|cannot|do\s+not|don['’]?t|never|avoid|refuse\s+to|stop)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(?:please\s+|always\s+|you\s+(?:must|should|have\s+to|need\s+to)\s+(?:always\s+)?|make\s+sure\s+to\s+)*",
    re.IGNORECASE,
)
_CONDITIONS = frozenset(
    words_of("when whenever if unless until except while where wherever once otherwise instead but than")
)
_FILLING = frozenset(
    words_of(
        "a an the of to and or it its this that these those you your any all every each only ever very really strictly "
        "absolutely not no"
    )
)
_OPPOSITES_OF = (
    ("upper", "lower"), ("uppercase", "lowercase"), ("short", "long"), ("brief", "detailed"), ("include", "exclude"),
    ("include", "omit"), ("ascending", "descending"), ("enable", "disable"), ("accept", "reject"), ("allow", "forbid"),
    ("increase", "decrease"), ("minimum", "maximum"),
)  # fmt: skip


@dataclass(frozen=True)
class _Instruction:
    line: int
    section: int
    text: str
    forbids: bool
    content: tuple[str, ...]
    """The words that it is about, in order, without those that only say how much it is meant."""


def contradictions(document: Document) -> Iterator[Finding]:
    """Pairs of instructions; the later one is told."""
    found = list(_instructions(document.body))[:_MAX_RULES]
    for one, other in combinations(found, 2):
        if one.section == other.section and _opposed(one, other):
            yield Finding(
                "contradiction",
                "warning",
                other.line,
                f"asks for the opposite of line {one.line}",
                "keep the one that holds, or say when each holds",
                other.text,
            )


def _opposed(one: _Instruction, other: _Instruction) -> bool:
    a, b = frozenset(one.content), frozenset(other.content)
    if one.forbids == other.forbids:
        return len(a & b) >= _MIN_CONTENT and a ^ b in OPPOSITES
    if one.content[0] != other.content[0] or _numbers(a) != _numbers(b):
        return False
    return len(a & b) >= max(_MIN_CONTENT, _SAME_TOPIC * len(a | b))


def _instructions(body: Sequence[tuple[int, str]]) -> Iterator[_Instruction]:
    section = 0
    texts = dict(body)
    for n, line in body:
        if _HEADING.match(line):
            section = n
        elif (text := _whole(n, line, texts)) and (made := _instruction(n, section, text)) is not None:
            yield made


def _whole(n: int, line: str, texts: dict[int, str]) -> str:
    """The text of a list item or a paragraph that is one line; blank for anything else."""
    item = _LIST.match(line)
    before, after = texts.get(n - 1, ""), texts.get(n + 1, "")
    if after.strip() and not _LIST.match(after) and not _HEADING.match(after) and (item or not _sentence(line)):
        return ""
    if item is None and before.strip() and not _HEADING.match(before) and not _sentence(before):
        return ""
    text = line[item.end() :] if item else line
    return text.strip().strip("*_ ")


def _sentence(line: str) -> bool:
    return line.rstrip().endswith((".", "!"))


def _instruction(n: int, section: int, text: str) -> _Instruction | None:
    if _NO_INSTRUCTION.search(text) or _ENDS.search(text):
        return None
    negated = _NEGATED.match(text)
    rest = text[negated.end() :] if negated else text[_asked(text) :]
    words = words_of(rest.replace("'", "").replace("’", ""))
    if set(words) & _CONDITIONS or (negated is None and set(words) & {"not", "never", "no", "without", "dont"}):
        return None
    content = tuple(stem(w) for w in words if w not in _FILLING)
    return _Instruction(n, section, text, negated is not None, content) if len(content) >= _MIN_CONTENT else None


def _asked(text: str) -> int:
    match = _ASKED.match(text)
    return match.end() if match else 0


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(w for w in words if any(map(str.isdigit, w)))


def stem(word: str) -> str:
    """Plural and verb endings off, roughly: enough to see that two instructions are about one thing."""
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


OPPOSITES = frozenset(frozenset(map(stem, pair)) for pair in _OPPOSITES_OF)
"""Two instructions that differ by such a pair only ask for opposites."""
