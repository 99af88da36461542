"""What must not be copied into a skill, and the search for it in a new text.

Four rules, each decided on the texts themselves: `words` (a run of six or more words of an item), `value` (a
distinctive gold answer, whole), `number` (a gold's or short item's digits, whole, as tail or as head, however spaced)
and `quote` (most of a short item text). Short or common answers, class labels (one gold of many items) and what the
initial skill or the prompt template already says are not leakage. Of a judge's text only the `words` rule is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.leakage.leak import SOURCES, Leak, VetoedEdit, leaks_from
from skillopt.core.leakage.numbers import joined_digits, telling_pieces
from skillopt.core.leakage.quotes import MAX_QUOTED, MIN_DIGITS, MIN_QUOTE, MIN_WORDS, Quotable, edges_of
from skillopt.core.ngrams import NgramFilter, ngrams, words_of
from skillopt.core.skill import Skill

_MIN_VALUE_CHARS, _MAX_VALUE_WORDS = 6, 12
_LABEL_COUNT, _LABEL_SHARE = 3, 0.01
"""A gold of this many items and this share of all golds is a class label, which a rule has to be able to name."""
_TELLING_WORDS, _LONG_RUN = 3, 10
_BOILERPLATE_COUNT, _BOILERPLATE_SHARE = 3, 0.05

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
        self._quotable: dict[tuple[str, str], Quotable] = {}
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
            len(compact) >= _MIN_VALUE_CHARS or sum(map(str.isdigit, compact)) >= MIN_DIGITS or len(tokens) >= MIN_WORDS
        )
        if distinctive and not _COMMON.issuperset(tokens):
            self._values.setdefault(compact, set()).add(source)
        self._add_numbers(source, text)

    def _add_item(self, source: str, text: str, tokens: list[str]) -> None:
        compact = "".join(tokens)
        if len(compact) > MAX_QUOTED:
            return
        self._add_numbers(source, text)
        if len(compact) >= MIN_QUOTE:
            self._quotable.setdefault((compact, source), Quotable(compact, tuple(tokens), source))

    def _add_numbers(self, source: str, text: str) -> None:
        for piece in telling_pieces(text):
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
                    yield from leaks_from(sources, "words", " ".join(run))
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
                yield from leaks_from(self._values[value], "value", shown)

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
        said = set(joined_digits(allowed))
        for digits in joined_digits(new_text):
            if digits in self._numbers and digits not in said:
                yield from leaks_from(self._numbers[digits], "number", digits)

    def _quotes(self, words: list[str], known: str) -> Iterator[Leak]:
        """The first telling piece of each short item that the text quotes."""
        text, edges = "".join(words), edges_of(words)
        for item in self._quotable.values():
            for piece in item.quoted_in(text, edges):
                if piece not in known and sum(piece in o.compact for o in self._quotable.values()) < self._boilerplate:
                    yield from leaks_from({item.source}, "quote", piece)
                    break


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
