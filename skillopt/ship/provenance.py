"""What a shipped skill says of itself: which text was measured, where, on how much, and what the gain was.

A score belongs to the bytes it was measured on. So only a run's best skill carries the sealed test's figures; any other
text says that nothing was measured, and why. Changes that the export makes to the measured text are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonValue
from skillopt.records.codec import encode_record
from skillopt.records.summary import ScoreSummary, Summary
from skillopt.ship.source import Source

FORMAT = "skillopt.provenance/1"


@dataclass(frozen=True)
class Score:
    """A mean on the sealed test with its items and interval."""

    value: float | None
    n: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Gain:
    """Best against initial skill on the same sealed items. `verdict` is the report's own sentence."""

    metric: str
    before: Score
    after: Score
    delta: float
    interval: tuple[float, float]
    n: int
    wins: int
    losses: int
    p: float | None
    verdict: str
    reading: int


@dataclass(frozen=True)
class Provenance:
    """`provenance.json`. `skill_hash` is of the text that was measured, `measured` says why there is no gain."""

    skill_hash: str
    run: str = ""
    initial_hash: str = ""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    seed: int | None = None
    gain: Gain | None = None
    not_measured: str = ""
    changes: tuple[str, ...] = ()
    tool: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The file's content."""
        return {"format": FORMAT, **encode_record(self)}

    @property
    def sentence(self) -> str:
        """One line for people."""
        if self.gain is None:
            return f"No gain is claimed: {self.not_measured}"
        g = self.gain
        low, high = g.interval
        return (
            f"{_shown(g.before.value)} → {_shown(g.after.value)} on {g.n} sealed test items ({g.metric}), difference "
            f"{g.delta:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}, with {self.models.get('target', 'unknown')}"
            + ("; not distinguishable from the initial skill" if low <= 0 <= high else "")
        )


def provenance_of(source: Source, changes: tuple[str, ...], tool: str) -> Provenance:
    """What can be said of a source."""
    run = source.run
    if run is None:
        return Provenance(
            skill_hash=source.skill.hash, not_measured="the skill came from no run", changes=changes, tool=tool
        )
    summary = run.summary
    gain, why = _gain(source, summary)
    return Provenance(
        skill_hash=source.skill.hash,
        run=run.root.resolve().name,
        initial_hash=run.initial.hash,
        models=summary.models if summary is not None else {},
        seed=summary.seed if summary is not None else None,
        gain=gain,
        not_measured=why,
        changes=changes,
        tool=tool,
    )


def _gain(source: Source, summary: Summary | None) -> tuple[Gain | None, str]:
    if summary is None:
        return None, "the run has not ended, so the sealed test was not read"
    if source.skill.hash == summary.initial_skill_hash:
        return None, "this is the skill that training started from"
    if source.skill.hash != summary.best_skill_hash:
        return None, "this text is not the run's best skill, and only that was measured on the sealed test"
    paired = summary.paired
    if paired is None:
        return None, summary.test.reason or "the run has no comparison on a sealed test"
    if paired.void:
        return None, "one side of the comparison lost many more items to faults than the other"
    return (
        Gain(
            paired.metric, _score(summary.baseline_test), _score(summary.test), paired.delta, paired.interval, paired.n,
            paired.wins, paired.losses, paired.p, summary.verdict, summary.test_reading,
        ),
        "",
    )  # fmt: skip


def _score(row: ScoreSummary) -> Score:
    return Score(row.shown, row.n, row.interval)


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
