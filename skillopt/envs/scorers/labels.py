"""Labels of a whole task: `{name: labels, labels: [positive, negative, neutral]}`. Right when the answer names the
gold label and no other one.

Case, spaces, underscores, hyphens and dressing are nothing: `Card arrival` is `card_arrival`. In a sentence the only
label that is mentioned counts, one inside a longer mentioned label does not, and one that is denied ("not positive")
is not named. The target is told the labels. Rows keep the label that was read beside the gold one, from which reports
make macro-F1 and a confusion table.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from pydantic import Field, field_validator

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, refuse_objects, shorten

_COMMAND = re.compile(r"\\(?:boxed|text\w{0,6}|math\w{1,4})\s?\{([^{}]{0,200})\}")
_DENIALS = ("not", "non", "never", "neither", "nor", "isn t", "rather than", "instead of", "no")
_ARTICLES = ("", "a ", "an ", "the ")


class Labels(Scorer):
    """One label of a closed list. Use it where every item has the same classes."""

    name: Literal["labels"] = "labels"
    labels: list[str] = Field(min_length=2, description="All labels, each written as the gold values write it.")

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: list[str]) -> list[str]:
        seen: dict[str, str] = {}
        for label in labels:
            key = plain(label) or label.strip()
            if not key:
                raise ValueError("a label is blank")
            if key in seen:
                raise ValueError(f"the labels {seen[key]!r} and {label!r} are one and the same")
            seen[key] = label
        return labels

    def told(self) -> str:
        """The labels."""
        return f"The answer is one of these labels: {', '.join(self.labels)}."

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        refuse_objects(item, gold, self.name)
        for text in gold.texts:
            if self.read(text) is None:
                raise DataError(
                    f"item {item.id!r}: the gold answer {shorten(text)!r} is none of the {len(self.labels)} labels",
                    hint="add it to the scorer's labels, or correct the item",
                )

    def form(self, text: str, item: Item) -> str:
        return self.read(text) or ""

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        label = self.read(answer)
        rights = [self.read(text) for text in gold.texts]
        right = label is not None and label in rights
        expected = label if right else rights[0]
        if right:
            why = ""
        elif label is None:
            why = f"no label, or more than one, in {shorten(answer)!r}, expected {gold.shown()!r}"
        else:
            why = f"labelled {label!r}, expected {gold.shown()!r}"
        detail = {"label": label or "", "gold_label": expected or ""}
        return Scored(float(right), float(right), why, label or answer, detail)

    def read(self, answer: str) -> str | None:
        """The label that a text names, as the list writes it; None for none or several."""
        keys = {plain(label) or label.strip(): label for label in self.labels}
        said = plain(answer)
        if said in keys:
            return keys[said]
        if answer.strip() in keys:  # labels of nothing but marks
            return keys[answer.strip()]
        words = f" {said} "
        found: list[str] = []
        for key in sorted(keys, key=len, reverse=True):
            if f" {key} " not in words:
                continue
            for denial in _DENIALS:
                for article in _ARTICLES:
                    words = words.replace(f" {denial} {article}{key} ", "  ")
            if f" {key} " in words:
                found.append(keys[key])
                words = words.replace(f" {key} ", "  ")
        return found[0] if len(found) == 1 else None


def plain(text: str) -> str:
    """Letters and digits of a text in lower case, one space between words."""
    text = _COMMAND.sub(r"\1", unicodedata.normalize("NFKC", text))
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
