"""What a run came to, from its summary and step records alone: the first page of a run, however large it is.

Nothing of the answers is read, so intervals in the course are those of the difference to the skill that a candidate
was compared with, which the gate's record holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.records.reading import Run
from skillopt.records.summary import Difference, PairedSummary, ScoreSummary, Summary
from skillopt.report.next_steps import next_steps
from skillopt.report.reasons import alarms, candidate_counts, why_nothing
from skillopt.report.report import headline
from skillopt.views.course import Point
from skillopt.views.tree import Node, tree


@dataclass(frozen=True)
class ClassRow:
    """One task type on the sealed test; scores are hard accuracy."""

    name: str
    items: int
    before: float | None
    after: float | None
    difference: Difference | None = None


@dataclass(frozen=True)
class Brief:
    """See the module. `scores` are the sealed test's rows by skill."""

    name: str
    headline: str
    verdict: str
    status: str
    stopped: str
    models: Mapping[str, str]
    metric: str
    scores: tuple[tuple[str, ScoreSummary], ...]
    selection: tuple[tuple[str, ScoreSummary], ...]
    paired: PairedSummary | None
    classes: tuple[ClassRow, ...]
    nodes: tuple[Node, ...]
    course: tuple[Point, ...]
    counts: str
    why_nothing: str
    alarms: tuple[str, ...]
    next_steps: tuple[str, ...]


def brief(run: Run) -> Brief:
    """Read it from the records. Raises `RunDirError` for damaged ones."""
    summary, steps, nodes = summary_of(run), run.steps, tree(run)
    chosen = (("initial", summary.baseline_selection), ("best", summary.best_selection))
    return Brief(
        name=run.root.resolve().name,
        headline=headline_of(run),
        verdict=summary.verdict,
        status=run.status,
        stopped=summary.stopped or "",
        models=summary.models,
        metric=summary.test.metric,
        scores=sealed_scores(summary),
        selection=tuple((name, score) for name, score in chosen if score.total),
        paired=summary.paired,
        classes=class_rows(summary),
        nodes=nodes,
        course=course_of(run, nodes),
        counts=candidate_counts(steps),
        why_nothing=why_nothing(summary, steps) if run.summary is not None else "",
        alarms=tuple(alarms(summary, steps)),
        next_steps=next_steps(summary, steps, unchanged=run.initial == run.best),
    )


def summary_of(run: Run) -> Summary:
    """The run's summary; until it has ended one that says just that."""
    return run.summary or Summary(verdict="The run has not ended.")


def headline_of(run: Run) -> str:
    """What the run came to in one line."""
    if run.summary is None:
        return "The run has not ended"
    return headline(run.summary, run.initial.text, run.best.text)


def sealed_scores(summary: Summary) -> tuple[tuple[str, ScoreSummary], ...]:
    """The sealed test's rows by skill; those that were not measured are left out."""
    rows = (("initial", summary.baseline_test), ("best", summary.test), ("final", summary.final_test))
    return tuple((name, score) for name, score in rows if score.total)


def course_of(run: Run, nodes: Sequence[Node]) -> tuple[Point, ...]:
    """The initial skill and every step's own candidate."""
    records = {record.step: record for record in run.steps}
    points: list[Point] = []
    for node in nodes:
        record = records.get(node.step) if node.label.startswith("step ") else None
        if record is None and node.place:
            continue
        words = node.words + (f": {node.reason}" if node.reason else "")
        bounds = _bounds(node)
        asked = (record.gate.evaluated_n or 0) if record is not None else 0
        batch, best = (record.rollout_hard, record.best_score) if record is not None else (None, node.score)
        points.append(Point(node.step, node.label, node.score, bounds, asked, node.current, words, batch, best))
    return tuple(points)


def beside_steps(nodes: Sequence[Node]) -> tuple[Point, ...]:
    """What was measured between the steps: notes, ends of epochs, the last look."""
    return tuple(
        Point(n.step, n.label, n.score, _bounds(n), 0, n.current, n.words + (f": {n.reason}" if n.reason else ""))
        for n in nodes
        if n.place and n.score is not None and not n.label.startswith("step ")
    )


def _bounds(node: Node) -> tuple[float, float] | None:
    """Where the candidate's score lies, taken that the skill which it was compared with scores what it scored."""
    if node.score is None or node.interval is None or node.before is None:
        return None
    low, high = node.interval
    return max(0.0, node.before + low), min(1.0, node.before + high)


def class_rows(summary: Summary) -> tuple[ClassRow, ...]:
    """By task type; empty where the items are of one kind."""
    before = summary.test_by_task_type.get("test_eval_baseline", {})
    after = summary.test_by_task_type.get("test_eval", {})
    names = [name for name in dict.fromkeys((*before, *after)) if name != "overall"]
    if len(names) < 2:
        return ()
    by_type: Mapping[str, Difference] = summary.paired.by_type if summary.paired is not None else {}
    return tuple(
        ClassRow(
            name, max(rows[name].total for rows in (before, after) if name in rows),
            before[name].hard_acc if name in before else None, after[name].hard_acc if name in after else None,
            by_type.get(name),
        )
        for name in sorted(names)
    )  # fmt: skip
