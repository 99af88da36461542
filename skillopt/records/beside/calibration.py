"""`calibration.json` as a record: what a judge said of answers that people had labelled, and how far both agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from skillopt.core.json_types import JsonValue
from skillopt.records.codec import OMIT, decode, encode_record
from skillopt.records.step import TokenCount, Tokens

Kind = Literal["right or wrong", "graded", "pairwise"]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number over `n` items with its 95 % interval. `value` is None where it cannot be said, `reason` is why."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """An answer on which judge and people differ: where it stands in the file, both verdicts, the judge's words."""

    where: str
    item: str
    people: str
    judge: str
    draws: int
    against: int
    """Of the judge's draws, those that differ from what most people said."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The findings. Shares are 0 to 1; every figure is a mean over items, so an item with many answers counts once.

    `agreement` is the chance that one verdict of the judge is that of one person, `kappa` the same beyond chance,
    `noise` the chance that two verdicts of the judge on one answer differ. `leniency` is how much more the judge gives
    than people do. Graded labels add `rank`, the rank correlation, and `spread`, the mean distance of two grades of one
    answer. Pairs add `position`, how much more often an answer wins when it is shown first (0: never swayed, 1:
    always), and `contradicted`, the share of comparisons in which the other order gave another verdict. `people` is how
    far people agree with each other, where an answer has several labels.
    """

    kind: Kind
    scorer: str
    judge: str
    answers: int
    measured: int
    items: int
    labels: int
    repeats: int
    agreement: Figure
    chance: float
    kappa: Figure
    noise: Figure
    leniency: Figure | None = field(default=None, metadata=OMIT)
    rank: Figure | None = field(default=None, metadata=OMIT)
    spread: Figure | None = field(default=None, metadata=OMIT)
    position: Figure | None = field(default=None, metadata=OMIT)
    contradicted: Figure | None = field(default=None, metadata=OMIT)
    people: Figure | None = field(default=None, metadata=OMIT)
    disagreements: tuple[Disagreement, ...] = ()
    notices: tuple[str, ...] = ()
    tokens: Tokens = field(default_factory=dict[str, TokenCount])
    cost: float | None = None
    stopped: str | None = None
    stopped_by: str | None = field(default=None, metadata=OMIT)

    @property
    def failed(self) -> bool:
        """Whether a fault ended it; a budget is an end that was asked for."""
        return self.stopped is not None and self.stopped_by != "budget"

    def to_json(self) -> dict[str, JsonValue]:
        """`calibration.json`."""
        return encode_record(self)

    @classmethod
    def from_json(cls, raw: object, where: str = "calibration.json") -> Calibration:
        """Read it. Raises `RunDirError` that names the field."""
        return decode(cls, raw, where)
