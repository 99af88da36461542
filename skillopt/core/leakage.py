"""Answers and items that a candidate text copied instead of learning from them.

Four rules, each decided on the texts themselves: `words` (a run of six or more words of an item), `value` (a
distinctive gold answer, whole), `number` (a gold's or short item's digits, whole, as tail or as head, however spaced)
and `quote` (most of a short item text). Short or common answers, class labels (one gold of many items) and what the
initial skill or the prompt template already says are not leakage.

What leaked is shown only where the optimizer may see it: the excerpt of a training leak. Of selection and test items
and of a judge's text (where only the `words` rule applies) a leak says that there is one (invariant I5).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from skillopt.core.edit import Edit, Patch
from skillopt.core.json_types import JsonValue
from skillopt.core.lint.finding import Finding
from skillopt.core.ngrams import NgramFilter, ngrams, words_of
from skillopt.core.skill import Skill

Rule = Literal["words", "value", "number", "quote"]

SOURCES = ("train_item", "train_gold", "selection_item", "selection_gold", "test_item", "test_gold", "judge_text")
"""Least sealed first. A judge's text is a rubric or an instruction that no item shows."""

_MIN_VALUE_CHARS, _MIN_VALUE_DIGITS, _MIN_VALUE_WORDS = 6, 5, 3
_MAX_VALUE_WORDS = 12
_LABEL_COUNT, _LABEL_SHARE = 3, 0.01
"""A gold of this many items and this share of all golds is a class label, which a rule has to be able to name."""
_MIN_NUMBER, _MAX_NUMBER = 7, 25
_MAX_QUOTED = 200
"""Letters and digits. Longer item texts are the business of the `words` rule."""
_QUOTE_SHARE, _MIN_QUOTE, _MIN_QUOTE_WORDS = 0.6, 8, 4
_TELLING_WORDS, _LONG_RUN = 3, 10
_BOILERPLATE_COUNT, _BOILERPLATE_SHARE = 3, 0.05
_EXCERPT = 160

_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:[\s().\-/+–]{1,3}[0-9]+)*")
_COMMON = frozenset(
    words_of(
        "a about after all also an and any are as at be because been before between both but by can could did do "
        "does each else every find first for from get give given had has have he her his how i if in into is it "
        "its last like make many may more most must name no not number of on one only or other our out over put "
        "same she should so some such take than that the their them then there these they this those to two up "
        "use used using was we were what when where which who whose why will with would yes you your answer "
        "question false true none unknown"
    )
)
_ARTICLES = ("a", "an", "the")


@dataclass(frozen=True)
class Leak:
    """One piece of a new text that stands in a source. `excerpt` is empty unless the source is the training split."""

    source: str
    rule: Rule
    excerpt: str = ""

    def __str__(self) -> str:
        split, _, kind = self.source.partition("_")
        what = {"item": "item", "gold": "answer", "text": "text"}[kind]
        how = {
            "words": "repeats the words of",
            "value": "contains",
            "number": "contains the number of",
            "quote": "quotes",
        }
        return f"{how[self.rule]} a {split} {what}" + (f": {self.excerpt!r}" if self.excerpt else "")

    def to_json(self) -> dict[str, str]:
        """A row of reports and records."""
        row = {"source": self.source, "rule": self.rule}
        return {**row, "excerpt": self.excerpt} if self.excerpt else row


@dataclass(frozen=True)
class VetoedEdit:
    """An edit that was taken out of a patch, and why: what it copied, or which error of `core.lint` it would have made.
    `index` counts from 1 in the patch as proposed."""

    index: int
    edit: Edit
    leaks: tuple[Leak | Finding, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """A row of reports and records; the content is left out, because it may hold sealed text."""
        return {"index": self.index, "op": self.edit.op, "leaks": [leak.to_json() for leak in self.leaks]}


@dataclass(frozen=True)
class _Quotable:
    """A short item text as letters and digits only, and where its words end."""

    compact: str
    words: tuple[str, ...]
    source: str

    @property
    def least(self) -> int:
        """How many characters in a row are a quotation."""
        return max(_MIN_QUOTE, math.ceil(_QUOTE_SHARE * len(self.compact)))


class LeakIndex:
    """Texts that must not reach a skill, by source. Holds references to the texts and about six bytes per word."""

    def __init__(self, texts: Mapping[str, Iterable[str]], *, words: int = 6) -> None:
        """`texts` maps a name of `SOURCES` to item texts or gold answers. Raises `ValueError` for another name."""
        unknown = set(texts) - set(SOURCES)
        if unknown:
            raise ValueError(f"unknown source {sorted(unknown)[0]!r}; known: {', '.join(SOURCES)}")
        by_source = {source: [text for text in texts[source] if text] for source in SOURCES if source in texts}
        if "judge_text" in by_source:  # one rubric for all items is one text, not the wording of a task
            by_source["judge_text"] = list(dict.fromkeys(by_source["judge_text"]))
        self._n = words
        self._texts = [(source, text) for source, group in by_source.items() for text in group]
        items = sum(source.endswith("_item") for source, _ in self._texts)
        # What this many items say is the wording of the task, not the content of an item.
        self._boilerplate = max(_BOILERPLATE_COUNT, _BOILERPLATE_SHARE * items)
        self._filter = NgramFilter(words, total_chars=sum(len(text) for _, text in self._texts))
        self._values: dict[str, set[str]] = {}
        self._numbers: dict[str, set[str]] = {}
        self._quotable: dict[tuple[str, str], _Quotable] = {}
        golds: Counter[str] = Counter()
        for source, text in self._texts:
            tokens = words_of(text)
            self._filter.add(tokens)
            if source.endswith("_gold"):
                self._add_value(source, text, tokens, golds)
            elif source.endswith("_item"):
                self._add_item(source, text, tokens)
        limit = max(_LABEL_COUNT, _LABEL_SHARE * golds.total())
        for label in [value for value, count in golds.items() if count >= limit]:
            self._values.pop(label, None)
        self._longest_value = max(map(len, self._values), default=0)

    def find(self, new_text: str, *, allowed: str) -> list[Leak]:
        """What of `new_text` stands in the sources and not in `allowed` (initial skill, prompt template), most sealed
        source first. Takes milliseconds; longer only to confirm a real run of words in a large body of text."""
        words, known = words_of(new_text), words_of(allowed)
        leaks = {
            *self._shared_words(words, known),
            *self._whole_values(words, known),
            *self._numbers_in(new_text, allowed),
            *self._quotes(words, "".join(known)),
        }
        return sorted(leaks, key=lambda leak: (-SOURCES.index(leak.source), leak.rule, leak.excerpt))

    def _add_value(self, source: str, text: str, tokens: list[str], golds: Counter[str]) -> None:
        tokens = tokens[1:] if tokens[:1] and tokens[0] in _ARTICLES else tokens
        compact = "".join(tokens)
        golds[compact] += 1
        distinctive = (
            len(compact) >= _MIN_VALUE_CHARS
            or sum(map(str.isdigit, compact)) >= _MIN_VALUE_DIGITS
            or len(tokens) >= _MIN_VALUE_WORDS
        )
        if distinctive and not _COMMON.issuperset(tokens):
            self._values.setdefault(compact, set()).add(source)
        self._add_numbers(source, text)

    def _add_item(self, source: str, text: str, tokens: list[str]) -> None:
        compact = "".join(tokens)
        if len(compact) > _MAX_QUOTED:
            return
        self._add_numbers(source, text)
        if len(compact) >= _MIN_QUOTE:
            self._quotable.setdefault((compact, source), _Quotable(compact, tuple(tokens), source))

    def _add_numbers(self, source: str, text: str) -> None:
        """Every head and tail of each number of the text that is long enough to tell one number from another."""
        for run in _NUMBER.findall(text):
            digits = "".join(_DIGITS.findall(run))[:_MAX_NUMBER].lstrip("0")
            for length in range(_MIN_NUMBER, len(digits) + 1):
                for piece in (digits[:length], digits[-length:]):
                    self._numbers.setdefault(piece, set()).add(source)

    def _shared_words(self, words: list[str], known: list[str]) -> Iterator[Leak]:
        n = self._n
        said = set(ngrams(known, n))
        suspects = {gram for gram in ngrams(words, n) if gram not in said and self._filter.may_hold(gram)}
        where = self._confirmed(suspects) if suspects else {}
        start: int | None = None
        sources: set[str] = set()
        for at, gram in enumerate([*ngrams(words, n), ()]):
            if gram in where:
                start = at if start is None else start
                sources |= where[gram]
            elif start is not None:
                run = words[start : at + n - 1]
                if len(run) >= _LONG_RUN or len(run) - sum(word in _COMMON for word in run) >= _TELLING_WORDS:
                    yield from _leaks(sources, "words", " ".join(run))
                start, sources = None, set()

    def _confirmed(self, suspects: set[tuple[str, ...]]) -> dict[tuple[str, ...], set[str]]:
        """Sources of the n-grams that really stand in a text and are not boilerplate of many items."""
        marks = {gram: (max(gram, key=len), f" {' '.join(gram)} ") for gram in suspects}
        found: dict[tuple[str, ...], Counter[str]] = {gram: Counter() for gram in suspects}
        for source, text in self._texts:
            folded = text.casefold()
            # Compatibility forms (full-width letters) hide a word from this quick look, so only ASCII is skipped.
            likely = [g for g, (word, _) in marks.items() if word in folded or not folded.isascii()]
            if likely:
                line = f" {' '.join(words_of(text))} "
                for gram in likely:
                    if marks[gram][1] in line:
                        found[gram][source] += 1
        return {gram: set(counts) for gram, counts in found.items() if 0 < counts.total() < self._boilerplate}

    def _whole_values(self, words: list[str], known: list[str]) -> Iterator[Leak]:
        said = {value for value, _ in self._values_in(known)}
        for value, shown in self._values_in(words):
            if value not in said:
                yield from _leaks(self._values[value], "value", shown)

    def _values_in(self, words: list[str]) -> Iterator[tuple[str, str]]:
        """Gold answers that stand in a text at word boundaries, spacing and punctuation aside."""
        for start in range(len(words)):
            joined = ""
            for end in range(start, min(start + _MAX_VALUE_WORDS, len(words))):
                joined += words[end]
                if len(joined) > self._longest_value:
                    break
                if joined in self._values:
                    yield joined, " ".join(words[start : end + 1])

    def _numbers_in(self, new_text: str, allowed: str) -> Iterator[Leak]:
        said = set(_joined_digits(allowed))
        for digits in _joined_digits(new_text):
            if digits in self._numbers and digits not in said:
                yield from _leaks(self._numbers[digits], "number", digits)

    def _quotes(self, words: list[str], known: str) -> Iterator[Leak]:
        """Most of a short item. A run of 60 % always covers the item's middle, so only that is searched for."""
        text, edges = "".join(words), set(accumulate(map(len, words)))
        for item in self._quotable.values():
            size, least = len(item.compact), item.least
            seed = item.compact[size - least : least]
            at = text.find(seed)
            while at >= 0:
                start, end = _grown(item.compact, size - least, least, text, at)
                left = at - (size - least - start)
                piece = item.compact[start:end]
                if (
                    len(piece) >= least
                    and _telling(item, start, end)
                    and piece not in known
                    and not any(_cuts_number(text, place, edges) for place in (left, left + len(piece)))
                    and sum(piece in other.compact for other in self._quotable.values()) < self._boilerplate
                ):
                    yield from _leaks({item.source}, "quote", piece)
                    break
                at = text.find(seed, at + 1)


def strip_leaks(skill: Skill, patch: Patch, index: LeakIndex, *, allowed: str) -> tuple[Patch, list[VetoedEdit]]:
    """`patch` without the edits whose content leaks, and those edits. What `skill` says already is no new leak."""
    kept: list[Edit] = []
    vetoed: list[VetoedEdit] = []
    for number, edit in enumerate(patch.edits, start=1):
        leaks = index.find(edit.content, allowed=f"{allowed}\n\n{skill.text}") if edit.content else []
        if leaks:
            vetoed.append(VetoedEdit(number, edit, tuple(leaks)))
        else:
            kept.append(edit)
    return (replace(patch, edits=tuple(kept)) if vetoed else patch), vetoed


def _leaks(sources: Iterable[str], rule: Rule, excerpt: str) -> Iterator[Leak]:
    for source in sources:
        yield Leak(source, rule, excerpt[:_EXCERPT] if source.startswith("train_") else "")


def _joined_digits(text: str) -> Iterator[str]:
    """Numbers of a text as plain digits: neighbouring groups joined in every way, leading zeros (trunk, 00) dropped."""
    for run in _NUMBER.findall(text):
        groups: list[str] = _DIGITS.findall(run)
        for start in range(len(groups)):
            joined = ""
            for group in groups[start:]:
                joined += group
                if len(joined) > _MAX_NUMBER:
                    break
                digits = joined.lstrip("0")
                if len(digits) >= _MIN_NUMBER:
                    yield digits


def _grown(item: str, start: int, end: int, text: str, at: int) -> tuple[int, int]:
    """The longest match of `item` in `text` around `item[start:end] == text[at:]`, as a range of `item`."""
    left, right = at, at + end - start
    while start and left and item[start - 1] == text[left - 1]:
        start, left = start - 1, left - 1
    while end < len(item) and right < len(text) and item[end] == text[right]:
        end, right = end + 1, right + 1
    return start, end


def _cuts_number(text: str, at: int, edges: set[int]) -> bool:
    """Whether `at` lies inside a number of the text; `edges` are the ends of its words."""
    return 0 < at < len(text) and at not in edges and text[at - 1].isdigit() and text[at].isdigit()


def _telling(item: _Quotable, start: int, end: int) -> bool:
    """Whether a matched range singles the item out: most of its digits if it has a number, else several whole words.

    So a table of countries and codes does not quote an item that names a country.
    """
    digits = sum(map(str.isdigit, item.compact))
    if digits >= _MIN_VALUE_DIGITS:
        return sum(map(str.isdigit, item.compact[start:end])) >= _QUOTE_SHARE * digits
    at, whole = 0, 0
    for word in item.words:
        whole += start <= at and at + len(word) <= end
        at += len(word)
    return whole >= _MIN_QUOTE_WORDS or (whole == len(item.words) and whole >= _MIN_VALUE_WORDS)
