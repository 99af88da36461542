"""Multiple choice: the chosen label, however it is written.

Understood, in this order: the bare label with any dressing (`B`, `(b)`, `B.`, `**B**`); the text of an option; the
last `answer is B` or `Answer: B`; a leading label (`B) Paris`) unless other labels follow; the last `option B`; the
only label in brackets; the only option whose text is mentioned. Anything else chose nothing and is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, verdict

_DRESS = " \t\r\n()[]{}<>*_`'\".:;,"
_LEAD = re.compile(r"^[\s*_`'\"]*(?:\(\s*(\w{1,3})\s*\)|\[\s*(\w{1,3})\s*\]|(\w{1,3})\s*[).:\]])")
_TAIL = r"\b(?:\s+(?:is|option|choice|label))*\s*[:=]?\s*[*_`'\"(\[]*(\w{1,3})\b(?![\w'’-])"
_ANSWER = re.compile(rf"\banswer{_TAIL}", re.IGNORECASE)
_OPTION = re.compile(rf"\b(?:option|choice){_TAIL}", re.IGNORECASE)
_BRACKETED = re.compile(r"\(\s*(\w{1,3})\s*\)|\[\s*(\w{1,3})\s*\]")


class MultipleChoice(Scorer):
    """The label of the gold option. The gold value is a label or the text of an option."""

    name: Literal["multiple_choice"] = "multiple_choice"
    choices_field: str = Field(
        default="choices",
        description="Item field with the options: a list of texts, a list of {label, text}, or a mapping label: text. "
        "Items without it have the labels A to Z and no texts.",
    )

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        options = self.options(item)
        for text in gold.texts:
            if chosen(text, options) is None:
                raise DataError(
                    f"item {item.id!r}: the gold answer {text!r} is none of the options {', '.join(options)}",
                    hint="give a label or the exact text of an option",
                )

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        options = self.options(item)
        label = chosen(answer, options)
        right = {chosen(text, options) for text in gold.texts}
        if label is None:
            return verdict(False, answer, gold, why=f"no option recognised in the answer, expected {gold.shown()!r}")
        return Scored(
            float(label in right),
            float(label in right),
            fail_reason="" if label in right else f"chose {label}, expected {gold.shown()!r}",
            predicted=label,
        )

    def options(self, item: Item) -> dict[str, str]:
        """Label → text in the item's order. Raises `DataError` for a field of another shape."""
        raw = item.data.get(self.choices_field)
        if raw is None:
            return {chr(code): "" for code in range(ord("A"), ord("Z") + 1)}
        pairs = _pairs(raw)
        labels = [label.upper() for label, _ in pairs]
        if not pairs or len(set(labels)) != len(labels) or not all(labels):
            raise DataError(
                f"item {item.id!r}: field {self.choices_field!r} holds no usable options: {raw!r}",
                hint="a list of texts, a list of {label, text}, or a mapping label: text",
            )
        return dict(zip(labels, (text for _, text in pairs), strict=True))


def _pairs(raw: Any) -> list[tuple[str, str]]:
    if isinstance(raw, Mapping):
        return [(str(k).strip(), str(v)) for k, v in cast("Mapping[Any, Any]", raw).items()]
    pairs: list[tuple[str, str]] = []
    for index, entry in enumerate(cast("list[Any]", raw) if isinstance(raw, list) else []):
        if isinstance(entry, Mapping):
            fields = cast("Mapping[str, Any]", entry)
            pairs.append((str(fields.get("label", "")).strip(), str(fields.get("text", ""))))
        else:
            pairs.append((chr(ord("A") + index) if index < 26 else f"A{chr(ord('A') + index - 26)}", str(entry)))
    return pairs


def chosen(answer: str, options: Mapping[str, str]) -> str | None:
    """The label that the answer chooses, or None."""
    bare = answer.strip(_DRESS).upper()
    if bare in options:
        return bare
    form = _form(answer)
    by_text = [label for label, text in options.items() if text and _form(text) == form]
    if len(by_text) == 1:
        return by_text[0]
    bracketed = {_group(m) for m in _BRACKETED.finditer(answer)} & options.keys()
    lead = _LEAD.match(answer)
    leading = _group(lead) if lead else None
    if (label := _said(_ANSWER, answer, options)) is not None:
        return label
    if leading in options and not bracketed - {leading}:
        return leading
    if (label := _said(_OPTION, answer, options)) is not None:
        return label
    if len(bracketed) == 1:
        return bracketed.pop()
    words = f" {form} "
    mentioned = [label for label, text in options.items() if _form(text) and f" {_form(text)} " in words]
    return mentioned[0] if len(mentioned) == 1 else None


def _said(phrase: re.Pattern[str], answer: str, options: Mapping[str, str]) -> str | None:
    """The label of the last such phrase. A lower-case `a` with words after it is an article."""
    answer = " ".join(answer.split())
    for said in reversed(list(phrase.finditer(answer))):
        if (label := said[1].upper()) in options and not (said[1] == "a" and answer[said.end() :].strip()):
            return label
    return None


def _group(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None).upper()


def _form(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
