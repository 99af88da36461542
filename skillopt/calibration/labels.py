"""Answers with what people said of them, read from rows: `item, answer, label`, or `item, a, b, preferred` for pairs.

`item` is the id of an item of the configuration's data; where there are no data it is the task itself, and a column
`reference` may hold a reference answer. A label is right or wrong (`1`, `yes`, `pass`, `good` …), or a number: from 0
to 1, or on the given scale. A preference is `a`, `b` or `tie`. Several rows of one answer are the labels of several
people. What cannot be read is a `DataError` with its place; nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.errors import DataError
from skillopt.core.hashing import text_digest
from skillopt.core.item import Item
from skillopt.envs.data.loading import Row
from skillopt.envs.scorers.base import Gold
from skillopt.records.beside.calibration import Kind

RIGHT = frozenset({"1", "true", "yes", "right", "correct", "good", "pass", "passed", "met"})
WRONG = frozenset({"0", "false", "no", "wrong", "incorrect", "bad", "fail", "failed", "unmet", "not met"})
PREFERRED = {"a": 1.0, "b": 0.0, "tie": 0.5, "equal": 0.5, "both": 0.5}
TASK = "task"
"""The field of an item that is a task's text alone."""


@dataclass(frozen=True)
class Labelled:
    """One answer (of a pair: the first), what it is compared with, and its labels as numbers from 0 to 1."""

    where: str
    item: Item
    task: str
    answer: str
    gold: Gold
    labels: tuple[float, ...]


@dataclass(frozen=True)
class Known:
    """An item that a row may name: its task as the judge is shown it, and its gold value."""

    item: Item
    task: str
    gold: Gold


@dataclass(frozen=True)
class Labels:
    """Everything that was read. `kind` follows from the scorer and from the labels."""

    kind: Kind
    answers: tuple[Labelled, ...]


def read_labels(
    rows: Sequence[Row],
    *,
    pairs: bool,
    known: Mapping[str, Known] | None,
    scale: tuple[float, float] | None = None,
) -> Labels:
    """Read rows. `known` are the items of the configuration by id, None where it has none. Raises `DataError`."""
    if not rows:
        raise DataError("there are no labelled answers", hint="give rows of " + _columns(pairs=pairs))
    if scale is not None and (pairs or not scale[0] < scale[1]):
        raise DataError(
            f"the scale {scale[0]:g}:{scale[1]:g} cannot be used", hint="a scale is low:high, for graded labels only"
        )
    found: dict[tuple[str, str, str], Labelled] = {}
    graded = scale is not None
    for row in rows:
        one, own_grade = _pair(row, known) if pairs else _answer(row, known, scale)
        graded = graded or own_grade
        key = (one.item.id, one.answer, one.gold.shown() if pairs else "")
        before = found.get(key)
        found[key] = one if before is None else replace(before, labels=(*before.labels, *one.labels))
    kind: Kind = "pairwise" if pairs else "graded" if graded else "right or wrong"
    return Labels(kind, tuple(found.values()))


def _columns(*, pairs: bool) -> str:
    return "item, a, b, preferred" if pairs else "item, answer, label"


def _answer(row: Row, known: Mapping[str, Known] | None, scale: tuple[float, float] | None) -> tuple[Labelled, bool]:
    at = _item(row, known, pairs=False)
    label, grade = _label(row, scale)
    return Labelled(row.where, at.item, at.task, _text(row, "answer", pairs=False), at.gold, (label,)), grade


def _pair(row: Row, known: Mapping[str, Known] | None) -> tuple[Labelled, bool]:
    at = _item(row, known, pairs=True)
    first, second = _text(row, "a", pairs=True), _text(row, "b", pairs=True)
    said = _text(row, "preferred", pairs=True).strip().lower()
    if said not in PREFERRED:
        raise row.fault(f"preferred is {said!r}", hint="write a, b or tie")
    if not first.strip() or not second.strip():
        raise row.fault("one of the two answers is blank", hint="a judge is asked about two answers")
    return Labelled(row.where, at.item, at.task, first, Gold.of(second), (PREFERRED[said],)), False


def _text(row: Row, name: str, *, pairs: bool) -> str:
    value = row.data.get(name)
    if value is None:
        raise row.fault(
            f"there is no {name!r}; it has {', '.join(map(str, row.data)) or 'no column'}",
            hint=f"this scorer is calibrated with {_columns(pairs=pairs)}",
        )
    if not isinstance(value, (str, int, float)):
        raise row.fault(f"{name!r} must be text, got {type(value).__name__}")
    return str(value)


def _item(row: Row, known: Mapping[str, Known] | None, *, pairs: bool) -> Known:
    named = _text(row, "item", pairs=pairs)
    if known is None:
        reference = row.data.get("reference")
        gold = Gold.of(reference if str(reference or "").strip() else None)
        return Known(Item(text_digest(named)[:16], {TASK: named}), named, gold)
    if named.strip() not in known:
        raise row.fault(
            f"no item has the id {named.strip()!r}", hint="the column item holds ids of the configuration's items"
        )
    return known[named.strip()]


def _label(row: Row, scale: tuple[float, float] | None) -> tuple[float, bool]:
    """A label as a number from 0 to 1, and whether it is a grade."""
    said = _text(row, "label", pairs=False).strip().lower()
    if scale is None and said in RIGHT | WRONG:
        return float(said in RIGHT), False
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    low, high = scale or (0.0, 1.0)
    if not low <= value <= high:
        hint = "write right or wrong, a number from 0 to 1, or name the scale, for example 1:5"
        raise row.fault(f"the label {said!r} is not within {low:g} to {high:g}", hint=hint)
    grade = (value - low) / (high - low)
    return grade, scale is not None or grade not in (0.0, 1.0)
