"""JSON answers compared field by field. hard: every field right; soft: the F1 of the fields.

An answer that is not one JSON object scores 0.0 with the parse error as its reason. True is not 1, and "5" is not 5
unless the field's rule says `number`. A gold without fields (`{}`: there is nothing to extract) is answered by an
object without fields. A field that the gold has not and that is null counts as left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import DataError
from skillopt.core.hashing import canonical_json
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.data.rows import parse_json
from skillopt.envs.scorers.base import Gold, Scorer, shorten, verdict
from skillopt.envs.scorers.extract import json_text
from skillopt.envs.scorers.numbers import Number, numbers_in
from skillopt.envs.scorers.numeric import Numeric


class FieldRule(BaseModel):
    """How one field is compared."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: Literal["exact", "text", "number"] = Field(
        default="exact", description="exact: same JSON value; text: case and spacing aside; number: with tolerance."
    )
    absolute: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Tolerance of a number.")
    relative: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Tolerance as a share of the gold.")


class JsonFields(Scorer):
    """Compare the fields of a JSON object with those of the gold object."""

    name: Literal["json_fields"] = "json_fields"
    fields: dict[str, FieldRule] = Field(
        default_factory=dict[str, FieldRule], description="Fields that count. Empty: every field of the gold, exact."
    )
    extra_fields: Literal["allow", "refuse"] = Field(
        default="allow",
        description="Whether an answer may hold fields that the gold has not. Where the gold has none they are refused "
        "always: any answer would be right.",
    )

    def check(self, item: Item, gold: Gold) -> None:
        target = gold_object(gold)
        if target is None:
            raise DataError(
                f"item {item.id!r}: the gold answer is not a JSON object: {shorten(repr(gold.raw))}",
                hint="the json_fields scorer compares objects",
            )
        missing = [name for name in self.fields if name not in target]
        if missing:
            raise DataError(f"item {item.id!r}: the gold answer has no field {missing[0]!r}", hint="see scorer.fields")
        for name, rule in self.fields.items():
            if rule.kind == "number" and _number(target[name]) is None:
                raise DataError(f"item {item.id!r}: gold field {name!r} is not a number: {target[name]!r}")

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        target = gold_object(gold) or {}
        names = tuple(self.fields) or tuple(target)
        try:
            given: Any = parse_json(json_text(answer) or answer)
        except ValueError as error:
            return verdict(False, answer, gold, why=f"the answer is not one JSON object: {shorten(str(error))}")
        if not isinstance(given, dict):
            return verdict(False, answer, gold, why=f"the answer is JSON but no object: {type(given).__name__}")
        values = cast("dict[str, Any]", given)
        right = [n for n in names if n in values and self._equal(n, values[n], target[n])]
        wrong = [name for name in names if name not in right]
        more = sorted(name for name, value in values.items() if name not in target and value is not None)
        extra = more if self.extra_fields == "refuse" or not target else []
        reasons = [
            f"{n}: {'missing' if n not in values else shorten(canonical_json(values[n]))}, expected "
            f"{shorten(canonical_json(target[n]))}"
            for n in wrong
        ] + [f"{n}: not asked for" for n in extra]
        stated = sum(name in values for name in names) + len(extra)
        return Scored(
            hard=0.0 if reasons else 1.0,
            soft=2 * len(right) / (len(names) + stated) if names or stated else 1.0,
            fail_reason="; ".join(reasons),
            predicted=answer,
            detail={"wrong_fields": [*wrong, *extra]},
        )

    def form(self, text: str, item: Item) -> str:
        target = gold_object(Gold.of(text))
        return canonical_json(dict(target)) if target is not None else ""

    def _equal(self, name: str, given: Any, target: Any) -> bool:
        rule = self.fields.get(name, FieldRule())
        if rule.kind == "number":
            ours, theirs = _number(given), _number(target)
            near = Numeric(absolute=rule.absolute, relative=rule.relative)
            return ours is not None and theirs is not None and near.close(ours, theirs)
        if rule.kind == "text" and isinstance(given, str) and isinstance(target, str):
            return given.casefold().split() == target.casefold().split()
        return same_json(given, target)


def gold_object(gold: Gold) -> Mapping[str, Any] | None:
    """The gold as an object: as it is, or parsed from text (CSV)."""
    raw = gold.raw
    if isinstance(raw, str):
        try:
            raw = parse_json(raw)
        except ValueError:
            return None
    return cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else None


def same_json(one: Any, other: Any) -> bool:
    """Equal JSON values; 1 equals 1.0, true equals only true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        ours, theirs = cast("list[Any]", one), cast("list[Any]", other)
        return len(ours) == len(theirs) and all(map(same_json, ours, theirs))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, yours = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == yours.keys() and all(same_json(mine[k], yours[k]) for k in mine)
    return cast("object", one) == cast("object", other)


def _number(value: Any) -> Number | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return Fraction(Decimal(repr(value))) if math.isfinite(value) else None
    found = numbers_in(value) if isinstance(value, str) else []
    return found[0] if len(found) == 1 else None
