"""Labels given against right ones: the confusion table of an evaluation whose scorer reads labels, with macro-F1.

Read from the rows of results (`detail.label`, `detail.gold_label`); a reply that names no label, or several, counts
as given to none. Macro-F1 is the mean of the F1 of the labels that occur as right ones, so that a rare label counts
as much as a frequent one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.json_types import JsonValue, parse_json
from skillopt.records.rows import RolloutRow

NONE = "(none)"


@dataclass(frozen=True, kw_only=True)
class LabelScore:
    """One label of a task: of how many items it is the right one, to how many it was given, and what follows."""

    items: int = 0
    given: int = 0
    precision: float | None = None
    recall: float | None = None
    f1: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LabelScores:
    """Macro-F1 (the mean F1 of the labels that are right somewhere) and the labels it is made of. `none` are replies
    that name no label, or several."""

    macro_f1: float
    n: int
    none: int = 0
    by_label: Mapping[str, LabelScore] = field(default_factory=dict[str, LabelScore])


@dataclass(frozen=True)
class LabelTable:
    """How often each label was given where another one was right: `counts[right, given]`."""

    labels: tuple[str, ...]
    counts: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """Items."""
        return sum(self.counts.values())

    def right(self, label: str) -> int:
        """Items of which it is the right label."""
        return sum(count for (right, _), count in self.counts.items() if right == label)

    def given(self, label: str) -> int:
        """Items to which it was given."""
        return sum(count for (_, given), count in self.counts.items() if given == label)

    def f1(self, label: str) -> float:
        """Harmonic mean of precision and recall; 0 where it was never given rightly."""
        both = self.right(label) + self.given(label)
        return 2 * self.counts.get((label, label), 0) / both if both else 0.0

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that are right somewhere."""
        known = [label for label in self.labels if self.right(label)]
        return math.fsum(self.f1(label) for label in known) / len(known) if known else 0.0

    @property
    def scores(self) -> LabelScores:
        """As records hold it."""
        rows: dict[str, LabelScore] = {}
        for label in self.labels:
            hits, right, given = self.counts.get((label, label), 0), self.right(label), self.given(label)
            rows[label] = LabelScore(
                items=right, given=given, precision=hits / given if given else None,
                recall=hits / right if right else None, f1=self.f1(label),
            )  # fmt: skip
        return LabelScores(macro_f1=self.macro_f1, n=self.total, none=self.given(NONE), by_label=rows)

    @property
    def mistaken(self) -> list[tuple[str, str, int]]:
        """(right, given, items) of what was taken for something else, most frequent first."""
        wrong = [(right, given, count) for (right, given), count in self.counts.items() if right != given]
        return sorted(wrong, key=lambda entry: (-entry[2], entry[0], entry[1]))


def label_tables(root: Path) -> tuple[LabelTable | None, LabelTable | None]:
    """Those of the sealed test of a run directory, with the initial and with the best skill."""
    found: list[LabelTable | None] = []
    for name in ("test_eval_baseline", "test_eval"):
        path = root / name / "results.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        found.append(label_table(RolloutRow.from_json(parse_json(line), str(path)) for line in lines if line.strip()))
    return found[0], found[1]


def label_table(rows: Iterable[RolloutRow]) -> LabelTable | None:
    """The table of an evaluation's rows; None where its scorer reads no labels."""
    return table_of(row.detail or {} for row in rows if row.status == "scored")


def table_of(details: Iterable[Mapping[str, JsonValue]]) -> LabelTable | None:
    """The table of what a scorer says beside its scores; None where it reads no labels.

    >>> table_of([{"label": "spam", "gold_label": "spam"}, {"label": "", "gold_label": "ham"}]).macro_f1
    0.5
    """
    counts: Counter[tuple[str, str]] = Counter()
    for detail in details:
        right, given = detail.get("gold_label"), detail.get("label")
        if isinstance(right, str) and right and isinstance(given, str):
            counts[right, given or NONE] += 1
    if not counts:
        return None
    labels = sorted({label for pair in counts for label in pair if label != NONE})
    return LabelTable(tuple(labels), dict(counts))
