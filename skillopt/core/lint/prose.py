"""How a skill reads: rules said twice, rules against each other (`contradiction`), and shouting.

A rule is a list item or a line of prose of four words or more. Two rules are near duplicates when nearly all their
words agree and their numbers and their yes or no do too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from skillopt.core.lint.contradiction import OPPOSITES, contradictions, stem
from skillopt.core.lint.finding import Document, Finding
from skillopt.core.ngrams import words_of

_MIN_WORDS = 4
_MAX_RULES = 600
"""Pairs grow with the square; a document with more rules has the size rule's word already."""
_NEAR, _SAME_TOPIC = 0.85, 0.8

_CAPS_SHARE, _CAPS_WORDS = 0.1, 12
_LOUD_COUNT, _LOUD_DENSITY = 6, 0.02

_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)])?\s*")
_TABLE = re.compile(r"^\s*(?:\||#{1,6}\s|>|!?\[[^\]]*\]\([^)]*\)\s*$)")
_LEADS = re.compile(r":\W*$")
"""What only leads to the lines below it says what they say."""
_NEGATION = frozenset(
    words_of(
        "never not no don dont doesn cannot cant avoid without neither nor stop refuse forbidden mustn mustnt shouldn "
        "shouldnt"
    )
)
_EMPHASIS = frozenset(
    words_of(
        "always must should shall have need ensure make sure please only ever do does will be is are very really "
        "strictly absolutely all any every each the a an to of in on at for with and or it its this that these those "
        "you your"
    )
)
_ACRONYM = re.compile(r"[A-Z]{2,5}[0-9]*s?")
_CAPS_RUN = re.compile(r"(?<![\w`])[A-Z][A-Z']+(?: [A-Z][A-Z']+){3,}(?![\w`])")
_SHOUTED = re.compile(r"(?<![\w`<-])[A-Z][A-Z']{3,}(?![\w`>-])")
_LOUD = re.compile(
    r"(?<![\w-])(?:MUST|ALWAYS|NEVER|CRITICAL|IMPORTANT|MANDATORY|REQUIRED|WARNING|DO NOT|ONLY)(?![\w-])"
)
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=[^\s.:!?] )[A-Z]\w*|https?://\S+")


@dataclass(frozen=True)
class _Rule:
    line: int
    text: str
    words: tuple[str, ...]

    @property
    def content(self) -> frozenset[str]:
        """The words the rule is about, without the ones that only say how much it is meant."""
        return frozenset(stem(w) for w in self.words if w not in _EMPHASIS and w not in _NEGATION)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(w for w in self.words if any(map(str.isdigit, w)))

    @property
    def names(self) -> frozenset[str]:
        """What it is about by name, where the name stands inside the sentence or is an address."""
        found = (name.casefold() for name in _NAME.findall(self.text))
        return frozenset(name for name in found if not {name} & (_EMPHASIS | _NEGATION))

    @property
    def forbids(self) -> bool:
        return any(w in _NEGATION for w in self.words)


def prose_rules(document: Document) -> Iterator[Finding]:
    """Duplicates, contradictions, shouting."""
    rules = list(_rules(document))
    yield from _pairs(rules[:_MAX_RULES])
    yield from contradictions(document)
    yield from _shouting(document)


def _rules(document: Document) -> Iterator[_Rule]:
    for n, line in document.body:
        if _TABLE.match(line) or _LEADS.search(line):
            continue
        text = _MARK.sub("", line).strip()
        words = tuple(words_of(text.replace("'", "").replace("’", "")))
        if len(words) >= _MIN_WORDS or (len(words) >= 2 and set(words) & {"always", "never"}):
            yield _Rule(n, text, words)


def _pairs(rules: list[_Rule]) -> Iterator[Finding]:
    first: dict[tuple[str, ...], _Rule] = {}
    distinct: list[_Rule] = []
    for rule in rules:
        earlier = first.setdefault(rule.words, rule)
        if earlier is rule:
            distinct.append(rule)
        else:
            yield Finding(
                "duplicate",
                "warning",
                rule.line,
                f"says the same as line {earlier.line}",
                "delete one of them",
                rule.text,
            )
    contents = [rule.content for rule in distinct]
    for (a, one), (b, other) in combinations(zip(contents, distinct, strict=True), 2):
        shared = len(a & b)
        if not shared or shared < _SAME_TOPIC * len(a | b) or one.numbers != other.numbers:
            continue
        if a ^ b in OPPOSITES or one.forbids != other.forbids or one.names != other.names:
            continue
        if SequenceMatcher(None, one.words, other.words, autojunk=False).ratio() >= _NEAR:
            yield Finding(
                "duplicate.near",
                "warning",
                other.line,
                f"says nearly the same as line {one.line}",
                "merge the two",
                other.text,
            )


def _shouting(document: Document) -> Iterator[Finding]:
    words, shouted, loud = 0, 0, 0
    first_loud = 0
    for n, line in document.body:
        if line.lstrip().startswith("#"):
            continue
        caps = [w for w in _SHOUTED.findall(line) if not _ACRONYM.fullmatch(w) or w in ("MUST", "NEVER", "ONLY")]
        words += len(_WORD.findall(line))
        shouted += len(caps)
        found = _LOUD.findall(line)
        loud += len(found)
        first_loud = first_loud or (n if found else 0)
        if run := _CAPS_RUN.search(line):
            yield Finding(
                "shouting.line",
                "warning",
                n,
                f"words in capitals, one after the other: {run[0][:60]}",
                "say it once, in normal letters, with the reason",
                line,
            )
        if "!!" in line or line.count("!") >= 3:
            yield Finding(
                "shouting.exclamation", "warning", n, "several exclamation marks", "one sentence, one stop", line
            )
    if shouted >= _CAPS_WORDS and shouted >= _CAPS_SHARE * words:
        yield Finding(
            "shouting.share",
            "warning",
            0,
            f"{shouted} of {words} words are in capitals",
            "emphasis that is everywhere is nowhere",
        )
    if loud >= _LOUD_COUNT and loud >= _LOUD_DENSITY * words:
        yield Finding(
            "shouting.words",
            "warning",
            first_loud,
            f"loud words such as MUST {loud} times in {words} words",
            "give the reason for a rule instead of its rank",
        )
