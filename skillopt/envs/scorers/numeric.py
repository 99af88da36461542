"""Numbers with a tolerance. Exact arithmetic, so that a tolerance means what it says.

What is read as a number stands in `numbers`. A gold value that is no number is refused at load; an answer without a
number is wrong.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Literal

from pydantic import Field

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, shorten, verdict
from skillopt.envs.scorers.numbers import Number, numbers_in


class Numeric(Scorer):
    """Right when within `absolute` or within `relative` times the gold value, whichever is wider."""

    name: Literal["numeric"] = "numeric"
    absolute: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Largest difference that is right.")
    relative: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="Largest difference as a share of the gold value."
    )
    pick: Literal["last", "first", "only"] = Field(
        default="last", description="Which number of the answer counts; `only`: an answer with several is wrong."
    )

    decimal: Literal["point", "comma"] = Field(
        default="point", description="Which mark parts the fraction: with `comma`, `3,5` is three and a half."
    )

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        for text in gold.texts:
            found = self.numbers(text)
            if len(found) != 1:
                if not found and numbers_in(text, comma=self.decimal == "point"):
                    other = "comma" if self.decimal == "point" else "point"
                    raise DataError(
                        f"item {item.id!r}: the gold answer {shorten(text)!r} has no decimal {self.decimal}",
                        hint=f"write {{name: numeric, decimal: {other}}} if that is how the file writes fractions",
                    )
                last = f" (here {_plain(found[-1])})" if found and "####" in text else ""
                raise DataError(
                    f"item {item.id!r}: the gold answer {shorten(text)!r} is not one number",
                    hint=f"numeric needs the bare result in every item{last}; put it into a field of its own "
                    "(env.answer_field) or judge with module:function (docs/guide/your-own-tasks.md)",
                )

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        found = self.numbers(answer)
        if not found:
            return verdict(False, answer, gold, why=f"no number in the answer, expected {gold.shown()!r}")
        if self.pick == "only" and len(set(found)) > 1:
            return verdict(False, answer, gold, why=f"{len(found)} numbers in the answer, expected {gold.shown()!r}")
        value = found[0] if self.pick == "first" else found[-1]
        return verdict(any(self.close(value, self.numbers(text)[0]) for text in gold.texts), answer, gold)

    def form(self, text: str, item: Item) -> str:
        found = self.numbers(text)
        return str(found[0]) if len(found) == 1 else ""

    def numbers(self, text: str) -> list[Number]:
        """The numbers of a text, as this scorer writes fractions."""
        return numbers_in(text, comma=self.decimal == "comma")

    def close(self, value: Number, target: Number) -> bool:
        """True when `value` is within the tolerance of `target`."""
        return abs(value - target) <= max(_exact(self.absolute), _exact(self.relative) * abs(target))


def _exact(value: float) -> Number:
    return Fraction(Decimal(repr(value)))


def _plain(value: Number) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
