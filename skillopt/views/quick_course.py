"""The course of a run for a page that is drawn often: the same points as `course`, with only the gates' rows read.

Intervals are those of the last steps only; what a chart of many steps shows beyond that is the line.
"""

from __future__ import annotations

from skillopt.records.reading import Run
from skillopt.views.brief import course_of
from skillopt.views.course import Point, course
from skillopt.views.measurements import Measurement
from skillopt.views.tree import tree

MOST_INTERVALS = 60
MOST_ROWS = 10_000
"""Rows that a page may read for its chart; beyond them intervals are those that the gates' records hold."""
_BASELINE = "selection_eval_baseline"


def quick_course(run: Run, most: int = MOST_INTERVALS) -> tuple[Point, ...]:
    """The initial skill as step 0, then every step."""
    first = run.draws(_BASELINE)
    if len(first) * min(most, len(run.steps)) > MOST_ROWS:
        return course_of(run, tree(run))
    measured = [Measurement(_BASELINE, "initial skill", "selection", (-1, 0), first)]
    for record in run.steps[-most:]:
        if record.gate.candidate_gate_score is not None:
            place = f"{run.step_dir(record.step)}/selection_eval"
            rows = run.draws(place)
            measured.append(Measurement(place, f"step {record.step}", "selection", (record.step, 0), rows, record.step))
    return course(run, measured)
