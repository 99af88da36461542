"""What the fields of a person's items are: the right answer, what may be shown, what must not be.

The right answer is the field whose name says so. Fields with another name for an answer, and fields that end with the
right answer, are never shown; identifiers and what is said about an item (split, type, metadata) only where there is
nothing else. Names of all rows count. Where two fields could be the answer, or none, a person has to say it
(`Undecided`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue, as_object
from skillopt.envs.data.fields import root_of, shown_value, value_at
from skillopt.envs.scorers.base import Gold

SURE = ("gold", "gold_answer", "ground_truth", "final_answer", "correct_answer", "correct", "answer_key", "answerkey",
        "expected", "expected_output", "expected_answer", "ideal")  # fmt: skip
LIKELY = ("answer", "answers", "label", "target", "output", "category", "class", "sentiment", "intent", "solution",
          "completion", "response", "labels", "reference", "reference_answer",
          "antwort", "lösung", "kategorie", "respuesta", "réponse", "réponses", "risposta", "resposta")  # fmt: skip
_NEVER_SHOWN = re.compile(
    r"(?:.*_)?(?:answers?|solutions?|gold|golds|labels?|targets?|rationales?|explanations?|reasoning|cot|chain_of_thought|"
    r"completions?|responses?|expected(?:_\w+)?|ground_truth|supporting_facts|evidence|answer_\w+|is_impossible|outputs?|"
    r"gold(?:en)?_\w+|(?:is_)?correct(?:_\w+)?|derivations?|hints?(?:_text)?|thoughts?|worked_\w+|"
    r"expectations?|assertions?|rubrics?)"
)
_IDENTIFIERS = re.compile(r"id|ids|uid|uuid|guid|key|idx|index|.*_(?:id|ids|idx|index|uid|uuid|guid|url|hash)")
_ABOUT = re.compile(
    r"url|level|difficulty|canary|license|(?:.*_)?(?:split|fold|subset|metadata|meta)|meta_\w+|(?:created|updated)_at"
)
_PERHAPS_ABOUT = re.compile(r"source|(?:.*_)?(?:type|version)")
"""Also the name of an input, so it counts only where few values come back again and again."""
_IDENTIFIER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*[a-f])(?=.*\d)[0-9a-f]{16,}", re.I)
_CLOSERS = " .!\n\"'])"
_DRAWS = 5
"""Right answers of other items that a field is held against, to see how often it ends with one by luck."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Undecided(DataError):
    """What only a person can say: `flag` is how, `options` are what could be said."""

    def __init__(self, message: str, flag: str, options: Sequence[str], more: str = "") -> None:
        named = f": {', '.join(options)}" if options else ""
        super().__init__(message, hint=f"give {flag}{' one of' if options else ''}{named}{more}")
        self.flag = flag
        self.options = tuple(options)


@dataclass(frozen=True)
class Fields:
    """The answer (a path, `answers.text`), the shown fields in order, those that not every item has, the reasons."""

    answer: str
    shown: tuple[str, ...]
    optional: frozenset[str]
    choices: str
    said: tuple[str, ...]


def fields_of(path: str | Path, rows: Sequence[Mapping[str, Any]], answer: str, choices_names: Sequence[str]) -> Fields:
    """Read them off the rows. Raises `Undecided` or `DataError`."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    said: list[str] = []
    if answer:
        if not any(value_at(row, answer) is not None for row in rows):
            raise DataError(f"{path}: no field {answer!r}", hint=f"give --answer-field one of: {', '.join(names)}")
    else:
        answer, why = _answer(path, names, rows)
        said.append(f"the right answer is the field {answer!r} ({why})")
    inner = _inside(rows, answer)
    if inner:
        answer = f"{answer}.{inner}"
        said.append(f"the right answers stand inside that field, in {inner!r}")
    root = answer if answer in names else root_of(answer)
    others = [name for name in names if name != root]
    choices = next((n for n in names if _plain(n) in choices_names and n != root and _are_options(rows, n)), "")
    golds = [Gold.of(value_at(row, answer)).texts for row in rows]
    hidden = {name: why for name in others if name != choices and (why := _hidden(name, rows, golds))}
    empty = [name for name in others if all(_blank(row.get(name)) for row in rows)]
    left = [name for name in others if name not in hidden and name not in empty and name != choices]
    twice = _same_as_others(left, rows)
    left = [name for name in left if name not in twice]
    hidden |= {name: f"the same text as {other}" for name, other in twice.items()}

    def solved(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
        inside = _solved_inside(name, rows, golds)
        return f"it holds the right answer, in {inside!r}" if inside else ""

    for kind in (solved, _identifier, _about):
        odd = {name: why for name in left if (why := kind(name, rows))}
        if len(odd) < len(left) or choices:  # else they are all that there is to show
            hidden |= odd
            left = [name for name in left if name not in odd]
    if hidden:
        named = "; ".join(f"{name} ({why})" for name, why in hidden.items())
        said.append(f"not shown to the model: {named}")
    optional = frozenset(name for name in left if any(_blank(row.get(name)) for row in rows))
    if optional:
        counts = ", ".join(
            f"{n} (in {sum(not _blank(r.get(n)) for r in rows)} of {len(rows)})" for n in left if n in optional
        )
        said.append(f"fields that not every item has are shown where they are: {counts}")
    shown = tuple(left)
    if not shown and not choices:
        why = "".join(f"; {name}: {why}" for name, why in hidden.items())
        raise Undecided(f"{path}: besides {answer!r} there is no field to show{why}", "--answer-field", names)
    return Fields(answer, shown, optional, choices, tuple(said))


def _answer(path: str | Path, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    filled = [name for name in names if sum(not _blank(row.get(name)) for row in rows) * 2 >= len(rows)]
    for known in (SURE, LIKELY):
        found = [name for name in filled if _plain(name) in known]
        if len(found) == 1:
            return found[0], "by its name"
        if found:
            same = [name for name in found if _plain(name) == known[0]]
            if known is LIKELY and len(same) == 1 and not any(_plain(n) in known[1:8] for n in found if n not in same):
                return same[0], "by its name"
            raise Undecided(f"{path}: {' and '.join(found)} could each be the right answer", "--answer-field", found)
    content = [name for name in names if not _identifier(name, rows) and not _about(name, rows)]
    if len(content) > 1:
        counts = [len({str(row.get(name)) for row in rows}) for name in content]
        few = counts.index(min(counts))
        others = counts[:few] + counts[few + 1 :]
        if 1 < counts[few] <= max(2, len(rows) // 10) and min(others) > len(rows) // 2:
            which = "the other of two" if len(content) == 2 else "the only one whose values come back"
            return content[few], f"{which}, with {counts[few]} values"
    raise Undecided(f"{path}: no field that looks like the right answer", "--answer-field", names)


def _inside(rows: Sequence[Mapping[str, Any]], answer: str) -> str:
    """The name of the texts inside answers that are objects around them (`{"text": [...], "answer_start": [...]}`)."""
    values: list[JsonValue] = [value_at(row, answer) for row in rows]
    objects = [(value[0] if isinstance(value, list) else value) for value in values if value not in (None, [])]
    shapes = [value for value in objects if isinstance(value, dict)]
    if not shapes or len(shapes) < len(objects):
        return ""
    spans = all("text" in s and any(mark in s for mark in ("answer_start", "start", "input_text")) for s in shapes)
    if spans or all(set(s) == {"text"} for s in shapes):
        return "text"
    if not all(isinstance(s.get("aliases"), list) and "value" in s for s in shapes):
        return ""
    return "aliases" if all(s["value"] in cast("list[JsonValue]", s["aliases"]) for s in shapes) else "value"


def _hidden(name: str, rows: Sequence[Mapping[str, Any]], golds: Sequence[Sequence[str]]) -> str:
    """Why a field is not shown; blank where it may be."""
    if _NEVER_SHOWN.fullmatch(_plain(name)):
        return "its name says an answer"
    texts = [_bare(shown_value(row.get(name))) for row in rows]

    def others(n: int) -> range:
        """Some items that are not the n-th; their distance is no period of anything."""
        return range(n + len(rows) // 2 - _DRAWS // 2, n + len(rows) // 2 - _DRAWS // 2 + _DRAWS)

    own = sum(_ends(text, gold) for text, gold in zip(texts, golds, strict=True))
    by_luck = sum(_ends(text, golds[other % len(rows)]) for n, text in enumerate(texts) for other in others(n))
    if own * 2 > len(rows) and own * _DRAWS > 2 * by_luck:
        return f"it ends with the right answer in {own} of {len(rows)} items"
    same = all(
        text in (g.strip().rstrip(" .!").casefold() for g in gold) for text, gold in zip(texts, golds, strict=True)
    )
    return "it is the right answer in every item" if same and len(set(texts)) > 1 else ""


def _solved_inside(name: str, rows: Sequence[Mapping[str, Any]], golds: Sequence[Sequence[str]]) -> str:
    """The name inside an object that says an answer and ends with the right one, mostly; blank without one."""
    objects = [as_object(row.get(name)) for row in rows]
    for inner in dict.fromkeys(key for found in objects for key in found):
        if _NEVER_SHOWN.fullmatch(_plain(inner)):
            texts = [_bare(shown_value(found.get(inner))) for found in objects]
            if sum(_ends(text, gold) for text, gold in zip(texts, golds, strict=True)) * 2 > len(rows):
                return inner
    return ""


def _identifier(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Why a field only tells items apart; blank where it may say something."""
    if _IDENTIFIERS.fullmatch(_plain(name)):
        return "an identifier by its name"
    texts = _texts(name, rows)
    return "identifiers" if texts and all(_IDENTIFIER.fullmatch(text) for text in texts) else ""


def _about(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Why a field tells something about its item and is no part of the task; blank where it may be one."""
    if _ABOUT.fullmatch(_plain(name)):
        return "about the item by its name"
    if not _PERHAPS_ABOUT.fullmatch(_plain(name)):
        return ""
    texts = _texts(name, rows)
    few = len(set(texts)) * 2 <= len(texts) or all(text.startswith(("http://", "https://", "{")) for text in texts)
    return "about the item by its name and its few values" if few else ""


def _texts(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [shown_value(value).strip() for row in rows if not _blank(value := row.get(name))]


def _plain(name: str) -> str:
    """One spelling of a field's name.

    >>> [_plain(name) for name in ("docId", "_id", "Correct Answer", "FAIL_TO_PASS")]
    ['doc_id', 'id', 'correct_answer', 'fail_to_pass']
    """
    return re.sub(r"[\W_]+", "_", _WORD_START.sub("_", name)).strip("_").lower()


def _same_as_others(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Fields that say what another one says in every item, with that other one."""
    first: dict[tuple[str, ...], str] = {}
    found: dict[str, str] = {}
    for name in names:
        other = first.setdefault(tuple(shown_value(row.get(name)).strip() for row in rows), name)
        if other != name:
            found[name] = other
    return found


def _ends(text: str, golds: Sequence[str]) -> bool:
    return any(gold.strip() and text.endswith(gold.strip().rstrip(".").casefold()) for gold in golds)


def _bare(text: str) -> str:
    return text.rstrip(_CLOSERS).strip().casefold()


def _are_options(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row.get(name), (list, Mapping)) for row in rows)


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
