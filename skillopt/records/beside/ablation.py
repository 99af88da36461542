"""`ablation.json`: what each edit of a run's skill is worth, and the skill without those that pay nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonValue
from skillopt.records.codec import MERGE, OMIT, encode_record
from skillopt.records.step import TokenCount
from skillopt.records.summary import ScoreSummary

FOLDER = "ablation"
RESULT = "ablation.json"


@dataclass(frozen=True, kw_only=True)
class WorthRecord:
    """A paired comparison of two skills: what the first has more, over the items that both have measured.

    `verdict` is `pays`, `harms`, `not shown` (its interval covers zero) or `not measured`.
    """

    worth: float | None = None
    interval: tuple[float, float] | None = None
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    n: int = 0
    total: int = 0
    verdict: str = "not measured"

    def pays_nothing(self, threshold: float) -> bool:
        """True when it is not shown to pay and its estimate is at most `threshold`."""
        return self.worth is not None and self.verdict in ("harms", "not shown") and self.worth <= threshold


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What leaving lines out saves, tokens estimated; negative where the text gets longer."""

    tokens: int = 0
    chars: int = 0


_UNMEASURED, _NOTHING = WorthRecord(), Saved()


@dataclass(frozen=True, kw_only=True)
class EditWorth:
    """One edit: its lines, the skill without it, what that saves and what it is worth."""

    origin: str
    label: str
    lines: tuple[str, ...] = ()
    without_hash: str = ""
    saved: Saved = _NOTHING
    pays_nothing: bool | None = None
    effect: WorthRecord = field(default=_UNMEASURED, metadata=MERGE)


@dataclass(frozen=True, kw_only=True)
class PrunedRecord:
    """The skill without what pays nothing; kept (`accepted`) only when "worse by the margin" is refuted for it."""

    left_out: tuple[str, ...] = ()
    accepted: bool = False
    reason: str = ""
    skill_hash: str | None = None
    saved: Saved | None = field(default=None, metadata=OMIT)
    difference: WorthRecord | None = field(default=None, metadata=OMIT)
    p_worse: float | None = field(default=None, metadata=OMIT)
    full: ScoreSummary | None = field(default=None, metadata=OMIT)
    pruned: ScoreSummary | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, kw_only=True)
class AblationRecord:
    """An ablation as far as it is measured. `stopped` says why it ended early. No clock value is in it."""

    skill_hash: str = ""
    split: str = "selection"
    threshold: float = 0.0
    margin: float = 0.05
    full: ScoreSummary | None = None
    edits: tuple[EditWorth, ...] = ()
    pruned: PrunedRecord | None = None
    stopped: str | None = None
    tokens: Mapping[str, TokenCount] = field(default_factory=dict[str, TokenCount])
    cost: float | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """`ablation.json`."""
        return encode_record(self)
