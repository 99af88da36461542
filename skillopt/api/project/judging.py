"""Which scorer suits the right answers of a file, and why: guessed as a careful person would, checked, and said.

Objects are compared by field, options by label, few values that come back as labels, numbers as numbers, and short
texts without case and punctuation where nothing is lost by that. What no rule can compare (long texts, lists of
objects) is not guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, cast

from skillopt.api.project.fields import Fields, Undecided
from skillopt.api.project.several import said_of_joined, said_of_several, statements_of, tests_of
from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.envs.data.fields import shown_value, value_at
from skillopt.envs.scorers import Gold, build_scorer
from skillopt.envs.scorers.numbers import CODE, numbers_in
from skillopt.envs.scorers.text import normalise

MARK = "####"
_LETTER = re.compile(r"\(?[A-Z]\)?")
_LONG = 25
"""Words from which a right answer is a text that nobody repeats."""
_SENTENCE = 8
"""Words from which it is said that a reply has to repeat them."""
_BOUND = re.compile(r"[<>≤≥≈~±]")
_GROUPED_COMMA = re.compile(r"\d\.\d{3},\d")
"""A number with groups by points: its comma is the decimal one."""
_RULES = ("exact", "normalised", "contains", "json_fields", "module:function")


@dataclass(frozen=True)
class Judging:
    """The scorer's YAML value, where the answer stands, what parts the gold from its solution, and the reason."""

    spec: Mapping[str, object]
    why: str
    answer_format: str = "answer_tag"
    answer_after: str = ""
    said: tuple[str, ...] = field(default=())


def judging_of(path: str | Path, rows: Sequence[Mapping[str, Any]], fields: Fields) -> Judging:
    """The scorer. Raises `Undecided` where only a person can know."""
    values = [value_at(row, fields.answer) for row in rows]
    known = [value for value in values if value is not None]
    golds = [Gold.of(value).texts for value in known]
    if known and all(isinstance(value, Mapping) for value in known):
        return _objects([cast("Mapping[str, Any]", value) for value in known])
    if fields.choices and (found := _choices(rows, fields)):
        return found
    if stated := statements_of(rows):
        return Judging(
            {"name": "rubric", "criteria_field": stated},
            f"every item says in {stated!r} what is expected: one verdict of the judge (model.judge) for each",
        )
    flat = [text.strip() for texts in golds for text in texts]
    if tests := tests_of(rows, flat):
        raise Undecided(
            f"{path}: the right answers are programs and the items bring tests ({', '.join(tests)}): another program "
            "that passes them is as good, and no rule tells",
            "--scorer",
            ["module:function"],
            " (a function of your own that runs them)",
        )
    inside = [entry for value in known if isinstance(value, list) for entry in cast("list[Any]", value)]
    if any(isinstance(entry, Mapping) for entry in inside):
        raise Undecided(
            f"{path}: the right answers in {fields.answer!r} are lists of objects, which no rule compares",
            "--scorer",
            ["module:function"],
            " (a function of your own), or another --answer-field",
        )
    marked = [text.rpartition(MARK)[2].strip() for text in flat]
    if flat and all(MARK in text for text in flat) and all(len(numbers_in(text)) == 1 for text in marked):
        why = f"the right answers are worked solutions; what counts is the number behind the last {MARK}"
        return Judging({"name": "numeric"}, why, answer_after=MARK)
    listed = any(isinstance(value, list) for value in known)
    return _plain(path, rows, fields, flat, listed=listed, said=said_of_several(golds) if listed else ())


def _plain(
    path: str | Path,
    rows: Sequence[Mapping[str, Any]],
    fields: Fields,
    golds: Sequence[str],
    *,
    listed: bool,
    said: tuple[str, ...],
) -> Judging:
    distinct = list(dict.fromkeys(golds))
    if _are_letters(rows, fields, distinct):
        return Judging({"name": "multiple_choice"}, "the right answers are letters of options that the tasks show")
    spelt = spellings(golds)
    if not listed and (labels := _labels(list(spelt), len(golds))):
        why = f"{len(labels)} right answers come back again and again"
        other = [f"{', '.join(map(repr, more))} as {label!r}" for label, more in spelt.items() if more]
        odd = ("spellings that differ in case or spacing alone are one label: " + "; ".join(other),) if other else ()
        return Judging({"name": "labels", "labels": labels}, why, said=(*odd, *said_of_joined(labels)))
    if not any(_GROUPED_COMMA.search(gold) for gold in golds) and _are_numbers(golds, comma=False):
        return Judging({"name": "numeric"}, "all right answers are numbers")
    if _are_numbers(golds, comma=True):
        return Judging({"name": "numeric", "decimal": "comma"}, "all right answers are numbers, with a decimal comma")
    words = median([len(text.split()) for text in golds]) if golds else 0
    lines = median(["\n" in text for text in golds]) if golds else 0
    if words > _LONG or lines:
        why = "of several lines" if lines else f"over {_LONG} words"
        raise Undecided(
            f"{path}: the right answers in {fields.answer!r} are long texts (half are {why}), and no "
            "rule tells which other text is as good",
            "--scorer",
            _RULES,
            "; a judge: write scorer {name: rubric, text: …} into config.yaml afterwards",
        )
    if words > _SENTENCE:
        said += (f"half of the right answers have {words:g} words or more, and only a reply with those words is right",)
    if _loses(distinct):
        why = "short texts in which marks count: without punctuation two of them would be one, or empty"
        folded = len({text.casefold() for text in distinct}) == len(distinct)
        return Judging({"name": "exact", "ignore_case": True} if folded else {"name": "exact"}, why, said=said)
    return Judging({"name": "normalised"}, "short texts; case, articles and punctuation do not count", said=said)


def _objects(golds: Sequence[Mapping[str, Any]]) -> Judging:
    varying = len({frozenset(gold) for gold in golds}) > 1
    spec: dict[str, object] = {"name": "json_fields"}
    why = "the right answers are objects; every field is compared"
    if varying:
        spec["extra_fields"] = "refuse"
        why += ", and one that is not asked for is wrong (they have different fields)"
    return Judging(spec, why, answer_format="json")


def _choices(rows: Sequence[Mapping[str, Any]], fields: Fields) -> Judging | None:
    """Multiple choice, where every right answer is an option."""
    options = {} if fields.choices == "choices" else {"choices_field": fields.choices}
    for more, why in (({}, "labels or texts"), ({"gold_index": True}, "numbers from 0")):
        spec: dict[str, object] = {"name": "multiple_choice", **options, **more}
        scorer = build_scorer(spec)
        try:
            for row in rows:
                scorer.check(Item("row", row), Gold.of(value_at(row, fields.answer)))
        except SkillOptError:
            continue
        return Judging(spec, f"the right answers are {why} of the options in {fields.choices!r}")
    return None


def _are_letters(rows: Sequence[Mapping[str, Any]], fields: Fields, golds: Sequence[str]) -> bool:
    if len(golds) < 2 or not all(_LETTER.fullmatch(gold) for gold in golds):
        return False
    texts = [" ".join(shown_value(row.get(name)) for name in fields.shown) for row in rows]
    return sum(bool(re.search(r"(?:^|[\s(])A[).:]", text)) for text in texts) * 2 > len(texts)


def spellings(golds: Sequence[str]) -> dict[str, list[str]]:
    """The right answers by their most frequent spelling, with the others that differ in case and spacing alone."""
    counts: dict[str, Counter[str]] = {}
    for gold in golds:
        counts.setdefault(" ".join(gold.casefold().split()), Counter())[gold] += 1
    ranked = [
        sorted(found, key=lambda text, found=found: (-found[text], text.isupper(), text)) for found in counts.values()
    ]
    return {texts[0]: texts[1:] for texts in ranked}


def _labels(distinct: Sequence[str], count: int) -> list[str]:
    """The labels, in order; empty where these are no labels."""
    few = 2 <= len(distinct) <= 200 and count >= 5 * len(distinct) and count >= 10
    if not few or any(not text or len(text) > 60 or "\n" in text for text in distinct):
        return []
    if all(len(numbers_in(text)) == 1 for text in distinct) and (len(distinct) > 5 or count < 20 * len(distinct)):
        return []
    labels = sorted(distinct)
    try:
        scorer = build_scorer({"name": "labels", "labels": labels})
        for label in labels:
            scorer.check(Item("label", {}), Gold.of(label))
    except SkillOptError:
        return []
    return labels


def _are_numbers(golds: Sequence[str], *, comma: bool) -> bool:
    return (
        bool(golds)
        and not any(CODE.fullmatch(text) for text in golds)
        and all(
            len(numbers_in(text, comma=comma)) == 1
            and not any(c.isalpha() for c in text.replace("e", ""))
            and not _BOUND.search(text)
            for text in golds
        )
    )


def _loses(golds: Sequence[str]) -> bool:
    """Whether the normal form makes one of two that differ in more than case, articles and marks at an end."""
    seen: dict[str, str] = {}
    for gold in golds:
        form = normalise(gold)
        bare = re.sub(r"\b(?:a|an|the)\s", "", " ".join(gold.casefold().split()).strip(" .,;:!?\"'()"))
        if not form or seen.setdefault(form, bare) != bare:
            return True
        if CODE.fullmatch(gold):
            continue
        if numbers_in(gold) != numbers_in(form) and not any(c.isalpha() for c in gold):
            return True
    return False
