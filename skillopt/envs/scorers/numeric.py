"""Numbers with a tolerance. Decimal arithmetic, so that a tolerance means what it says.

Read as numbers: `1,234.5`, `$ 12`, `-3.2%`, `1e3`, `−5` (minus sign). A percent sign is dropped, not divided by 100.
A gold value that is no number is refused at load; an answer without a number is wrong.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from pydantic import Field

from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers.base import Gold, Scorer, shorten, verdict

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?[$€£¥]?\s?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d))(?:[eE][-+]?\d{1,3})?(?![\d])"
)


def numbers_in(text: str) -> list[Decimal]:
    """All numbers of a text, in order."""
    plain = text.replace("\u2212", "-").replace("\u00a0", " ")
    return [Decimal(re.sub(r"[,$€£¥\s+]", "", match)) for match in _NUMBER.findall(plain)]


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

    def check(self, item: Item, gold: Gold) -> None:
        super().check(item, gold)
        for text in gold.texts:
            found = numbers_in(text)
            if len(found) != 1:
                last = f" (here {found[-1]})" if found and "####" in text else ""
                raise DataError(
                    f"item {item.id!r}: the gold answer {shorten(text)!r} is not one number",
                    hint=f"numeric needs the bare result in every item{last}; put it into a field of its own "
                    "(env.answer_field) or judge with module:function (docs/guide/your-own-tasks.md)",
                )

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        found = numbers_in(answer)
        if not found:
            return verdict(False, answer, gold, why=f"no number in the answer, expected {gold.shown()!r}")
        if self.pick == "only" and len(set(found)) > 1:
            return verdict(False, answer, gold, why=f"{len(found)} numbers in the answer, expected {gold.shown()!r}")
        value = found[0] if self.pick == "first" else found[-1]
        return verdict(any(self.close(value, numbers_in(text)[0]) for text in gold.texts), answer, gold)

    def close(self, value: Decimal, target: Decimal) -> bool:
        """True when `value` is within the tolerance of `target`."""
        return abs(value - target) <= max(Decimal(repr(self.absolute)), Decimal(repr(self.relative)) * abs(target))
