"""What was found: one leak, and an edit that was taken out for it.

What leaked is shown only where the optimizer may see it: the excerpt of a training leak. Of selection and test items
and of a judge's text a leak says that there is one (invariant I5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonValue
from skillopt.core.lint.finding import Finding

Rule = Literal["words", "value", "number", "quote"]

SOURCES = ("train_item", "train_gold", "selection_item", "selection_gold", "test_item", "test_gold", "judge_text")
"""Least sealed first. A judge's text is a rubric or an instruction that no item shows."""

_EXCERPT = 160


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


def leaks_from(sources: Iterable[str], rule: Rule, excerpt: str) -> Iterator[Leak]:
    """One leak a source; the excerpt only where it may be seen."""
    for source in sources:
        yield Leak(source, rule, excerpt[:_EXCERPT] if source.startswith("train_") else "")
