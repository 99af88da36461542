"""What a finished run came to, in the words that report and screen share."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.records.reading import Run
from skillopt.records.schema import Summary
from skillopt.report.reasons import alarms, candidate_counts, nothing_measured, why_nothing


@dataclass(frozen=True)
class Conclusion:
    """`candidates` counts what became of them, `why_nothing` is blank where something was kept, `alarms` are signs of
    something broken. Nothing of it holds where `measured` is False: the run ended before its first score."""

    summary: Summary
    measured: bool
    candidates: str
    why_nothing: str
    alarms: tuple[str, ...]


def conclusion(run: Run) -> Conclusion:
    """Read it from a run (`skillopt.open_run`); one that has not ended has an empty summary."""
    summary = run.summary or Summary()
    return Conclusion(
        summary=summary,
        measured=not nothing_measured(summary),
        candidates=candidate_counts(run.steps),
        why_nothing=why_nothing(summary, run.steps),
        alarms=tuple(alarms(summary, run.steps)),
    )
