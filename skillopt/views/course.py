"""The course of a run as numbers to draw: candidates' selection scores with intervals, the best so far, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.gate.interval import score_interval
from skillopt.records.gate import GateRecord
from skillopt.records.reading import Run
from skillopt.views.measurements import Measurement, mean, metric_of, value


@dataclass(frozen=True)
class Point:
    """One text on the selection split. `score` is None where an early stop left it unmeasured."""

    step: int
    label: str
    score: float | None
    interval: tuple[float, float] | None
    n: int
    kept: bool
    words: str
    batch: float | None = None
    best: float | None = None


def course(run: Run, measured: Sequence[Measurement]) -> tuple[Point, ...]:
    """The initial skill as step 0, then every step."""
    rows = {m.directory: m for m in measured}
    points = [point_of(run, 0, "initial skill", rows.get("selection_eval_baseline"), None)]
    for record in run.steps:
        at = rows.get(f"{run.step_dir(record.step)}/selection_eval")
        whole = at if record.gate.candidate_gate_score is not None else None
        point = point_of(run, record.step, f"step {record.step}", whole, record.gate)
        points.append(
            Point(
                point.step, point.label, point.score if whole else record.gate.candidate_gate_score, point.interval,
                point.n, point.kept, point.words, record.rollout_hard, record.best_score,
            )
        )  # fmt: skip
    return tuple(points)


def point_of(run: Run, step: int, label: str, at: Measurement | None, gate: GateRecord | None) -> Point:
    metric = metric_of(run)
    draws: dict[str, list[float | None]] = {}
    for row in at.rows if at is not None else ():
        draws.setdefault(row.id, []).append(value(row, metric))
    scores = [s for s in map(mean, draws.values()) if s is not None]
    words = "" if gate is None else gate.action.words + (f": {gate.reason}" if gate.reason else "")
    interval = score_interval(scores) if len(scores) >= 2 else None
    return Point(step, label, mean(scores), interval, len(scores), gate is None or gate.changed_current, words)
