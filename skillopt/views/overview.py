"""A whole run as one view model: what the screen prints, the page draws, and a dashboard may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.explain.skill_diff import ChangedLine, diff_skills
from skillopt.explain.skill_ref import NamedSkill
from skillopt.records.beside.label_table import LabelScores, label_tables
from skillopt.records.reading import Run
from skillopt.records.rows import SpentRow
from skillopt.records.summary import Difference, ScoreSummary
from skillopt.report.next_steps import next_steps
from skillopt.views.answers.flips import TEST, SideBySide, contests, side_by_side
from skillopt.views.answers.items import ItemView, item_views
from skillopt.views.answers.matrix import Matrix, matrices
from skillopt.views.brief import ClassRow, class_rows, headline_of, sealed_scores, summary_of
from skillopt.views.costs import Costs, costs
from skillopt.views.course import Point, course
from skillopt.views.effects import Effects, effects
from skillopt.views.growth import BEST, BlamedText, VersionRow, blamed, versions
from skillopt.views.measurements import measurements
from skillopt.views.noise import NoiseFloor, noise_floor
from skillopt.views.tree import Node, tree
from skillopt.views.worth import TokenCost, Worth, token_cost, traced_best, worths

MOST_SIDES = 20


@dataclass(frozen=True)
class Overview:
    """See the module. `scores` are the sealed test's rows by skill; `spent` is the bill, speculation included."""

    name: str
    headline: str
    verdict: str
    status: str
    stopped: str
    models: Mapping[str, str]
    metric: str
    scores: tuple[tuple[str, ScoreSummary], ...]
    paired: Difference | None
    classes: tuple[ClassRow, ...]
    labels: tuple[LabelScores | None, LabelScores | None]
    """Macro-F1 and F1 by label on the sealed test, initial and best; None where the scorer reads no labels."""
    course: tuple[Point, ...]
    worths: tuple[Worth, ...]
    tokens: TokenCost
    diff: tuple[tuple[ChangedLine, ...], ...]
    items: tuple[ItemView, ...]
    matrices: tuple[Matrix, ...]
    spent: tuple[SpentRow, ...]
    usd: float | None
    next_steps: tuple[str, ...]
    nodes: tuple[Node, ...]
    versions: tuple[VersionRow, ...]
    text: BlamedText
    effects: Effects | None
    floor: NoiseFloor | None
    cost: Costs
    root: Path
    """The run directory, which the images of items are read from."""
    sides: tuple[SideBySide, ...]
    """The first answers of the sealed test that the best skill turned over, with both conversations."""

    @property
    def changed(self) -> tuple[ItemView, ...]:
        """Items that the best skill answers better or worse than the initial one: lost ones first."""
        found = [v for v in self.items if v.verdict in ("lost", "won")]
        return tuple(sorted(found, key=lambda v: (v.verdict, v.split)))


def overview(run: Run) -> Overview:
    """Read it all, from records only. Raises `RunDirError` for damaged ones."""
    summary, initial, best = summary_of(run), run.initial, run.best
    measured = measurements(run)
    items = item_views(run, measured)
    diff = diff_skills(NamedSkill("initial skill", initial, run), NamedSkill("best skill", best, run))
    return Overview(
        name=run.root.resolve().name,
        headline=headline_of(run),
        verdict=summary.verdict,
        status=run.status,
        stopped=summary.stopped or "",
        models=summary.models,
        metric=summary.test.metric,
        scores=sealed_scores(summary),
        paired=summary.paired,
        classes=class_rows(summary),
        labels=_labels(run),
        course=course(run, measured),
        worths=worths(run, traced_best(run)),
        tokens=token_cost(run, measured),
        diff=diff.hunks,
        items=items,
        matrices=matrices(run, measured, items),
        spent=run.ledger.calls,
        usd=summary.cost.usd,
        next_steps=next_steps(summary, run.steps, unchanged=initial == best),
        nodes=tree(run),
        versions=versions(run),
        text=blamed(run, BEST),
        effects=effects(run),
        floor=noise_floor(run),
        cost=costs(run),
        root=run.root,
        sides=_sides(run),
    )


def _labels(run: Run) -> tuple[LabelScores | None, LabelScores | None]:
    before, after = label_tables(run.root)
    return before.scores if before is not None else None, after.scores if after is not None else None


def _sides(run: Run) -> tuple[SideBySide, ...]:
    found = next((contest for contest in contests(run) if contest.key == TEST), None)
    flips = found.flips[:MOST_SIDES] if found is not None else ()
    return tuple(side_by_side(run, TEST, flip.item) for flip in flips)
