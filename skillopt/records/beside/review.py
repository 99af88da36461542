"""`review/review.json`: what a person decided about the changes of a run's skill, and what came of the text they left.

A decision is provenance: who, when, why, and the lines that were looked at. A text that differs from the best skill is
a version of the run (`reviewed_skill.md`) only after it was measured; until then there are decisions and no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from skillopt.core.json_types import JsonValue
from skillopt.records.beside.ablation import WorthRecord
from skillopt.records.codec import OMIT, encode_record
from skillopt.records.step import TokenCount
from skillopt.records.summary import ScoreSummary

FOLDER = "review"
RESULT = "review.json"
REVIEWED = "reviewed_skill.md"
MEASURED = "review/measured"
"""Where the measuring has its journal, its bill and its lock."""

Choice = Literal["accept", "refuse", "change"]


@dataclass(frozen=True, kw_only=True)
class EditDecision:
    """What was decided about one change. `lines` are those that it had, `text` what they became (`change`), `at` the
    time (UTC)."""

    origin: str
    label: str = ""
    choice: Choice
    lines: tuple[str, ...] = ()
    text: str = field(default="", metadata=OMIT)
    note: str = field(default="", metadata=OMIT)
    by: str = ""
    at: str = ""


@dataclass(frozen=True, kw_only=True)
class ReviewMeasurement:
    """The reviewed text against the best skill on the same selection items. `difference` is reviewed minus best."""

    reviewed_hash: str
    full: ScoreSummary | None = None
    reviewed: ScoreSummary | None = None
    difference: WorthRecord
    cost: float | None = None
    tokens: Mapping[str, TokenCount] = field(default_factory=dict[str, TokenCount])


@dataclass(frozen=True, kw_only=True)
class ReviewRecord:
    """A review as far as it has come. `skill_hash` is the text that was looked at; `accepted` says that the reviewed
    text is a version of the run now, and `reason` why, or why not."""

    skill_hash: str = ""
    decisions: tuple[EditDecision, ...] = ()
    measurement: ReviewMeasurement | None = None
    accepted: bool = False
    reason: str = ""

    @property
    def changes(self) -> bool:
        """Whether the decisions leave another text than the one that was looked at."""
        return any(each.choice != "accept" for each in self.decisions)

    def of(self, origin: str) -> EditDecision | None:
        """The decision about one change."""
        return next((each for each in self.decisions if each.origin == origin), None)

    def to_json(self) -> dict[str, JsonValue]:
        """`review.json`."""
        return encode_record(self)
