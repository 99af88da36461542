"""Text scorers: exact, normalised (EM and token F1), contains, regex; and the SearchQA measures they rest on.

The measures are golden: lower-case, drop ASCII punctuation, drop a/an/the, squeeze spaces; F1 over token multisets.
"""

from __future__ import annotations

import re
import string
import warnings
from collections import Counter
from functools import lru_cache
from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, refuse_objects, verdict

_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalise(text: str) -> str:
    """The normal form of the extractive question answering measures."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DROP_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> bool:
    """Equal normal forms."""
    return normalise(prediction) == normalise(gold)


def token_f1(prediction: str, gold: str) -> float:
    """F1 of normalised tokens, 0 to 1; two empty forms are equal."""
    ours, theirs = normalise(prediction).split(), normalise(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def sub_match(prediction: str, gold: str) -> bool:
    """One normal form contains the other; an empty one matches only an empty one."""
    ours, theirs = normalise(prediction), normalise(gold)
    return ours == theirs if not ours or not theirs else ours in theirs or theirs in ours


class TextScorer(Scorer):
    """Base of the scorers that compare texts."""

    def check(self, item: Item, gold: Gold) -> None:
        """A gold answer must be there, and a text."""
        super().check(item, gold)
        refuse_objects(item, gold, str(getattr(self, "name", "the scorer")))


class Exact(TextScorer):
    """The same characters, surrounding white space aside."""

    name: Literal["exact"] = "exact"
    ignore_case: bool = Field(default=False, description="Compare without regard to case.")

    def form(self, text: str, item: Item) -> str:
        return self._form(text)

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        given = self._form(answer)
        return verdict(any(given == self._form(text) for text in gold.texts), answer, gold)

    def _form(self, text: str) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()


class Normalised(TextScorer):
    """hard: equal normal form with any gold answer; soft: the best token F1."""

    name: Literal["normalised"] = "normalised"

    def form(self, text: str, item: Item) -> str:
        return normalise(text)

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        f1 = max(token_f1(answer, text) for text in gold.texts)
        return verdict(any(exact_match(answer, text) for text in gold.texts), answer, gold, soft=f1)


class Contains(TextScorer):
    """The answer mentions the gold text. Lenient and easy to game by listing: prefer an outcome where there is one."""

    name: Literal["contains"] = "contains"
    ignore_case: bool = Field(default=True, description="Compare without regard to case.")
    whole_words: bool = Field(default=True, description="A gold text must not stand inside a longer word or number.")
    need: Literal["any", "all"] = Field(default="any", description="How many gold texts must be mentioned.")
    max_chars: PositiveInt | None = Field(
        default=None, description="A longer answer is wrong, so that listing everything does not pay. Null: no limit."
    )

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        if not all(text.strip() for text in gold.texts):
            raise DataError(f"item {item.id!r}: a blank gold answer", hint="every answer contains blank text")

    def form(self, text: str, item: Item) -> str:
        return text.strip().casefold() if self.ignore_case else text.strip()

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        if self.max_chars is not None and len(answer) > self.max_chars:
            return verdict(False, answer, gold, why=f"{len(answer)} characters, at most {self.max_chars} count")
        found = [self._mentions(answer, text.strip()) for text in gold.texts]
        if self.need == "any":
            return verdict(any(found), answer, gold)
        return verdict(all(found), answer, gold, soft=sum(found) / len(found))

    def _mentions(self, answer: str, text: str) -> bool:
        pattern = re.escape(text)
        if self.whole_words:
            pattern = rf"(?<!\w){pattern}(?!\w)"
        return re.search(pattern, answer, re.IGNORECASE if self.ignore_case else 0) is not None


class Regex(Scorer):
    """The answer matches a pattern, taken verbatim: one `pattern` for all items, else the item's gold values."""

    name: Literal["regex"] = "regex"
    pattern: str | None = Field(default=None, description="Pattern for all items. Null: each gold value is a pattern.")
    match: Literal["search", "full"] = Field(default="search", description="Anywhere in the answer, or all of it.")

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            compile_pattern(pattern)
        return pattern

    def check(self, item: Item, gold: Gold) -> None:
        if self.pattern is not None:
            return
        super().check(item, gold)
        for text in gold.texts:
            try:
                compile_pattern(text)
            except ValueError as error:
                raise DataError(f"item {item.id!r}: {error}", hint="correct the gold pattern") from error

    @property
    def gold_answers(self) -> bool:
        """A pattern is no answer."""
        return False

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        patterns = gold.texts if self.pattern is None else (self.pattern,)
        compiled = [compile_pattern(pattern) for pattern in patterns]
        found = any((p.fullmatch(answer) if self.match == "full" else p.search(answer)) is not None for p in compiled)
        return verdict(found, answer, Gold(gold.raw, patterns))


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile verbatim. Raises `ValueError` with position and reason, also for what Python only warns about."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(pattern)
    except (re.error, Warning, RecursionError, OverflowError) as error:
        raise ValueError(f"the pattern {pattern!r} does not compile: {error}") from error
