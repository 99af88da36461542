"""Items whose answer a change turned over, and one of them side by side: both attempts with what led to them.

A gate's record names who won and who lost; the attempt before it is that of the text which the tree says it was
compared with, wherever the run had measured that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonObject
from skillopt.records.codec import decode
from skillopt.records.items import readable_name
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.views.answers.scores import rows_of
from skillopt.views.answers.trajectory import Trajectory, trajectory
from skillopt.views.measurements import ROWS, metric_of, value
from skillopt.views.tree import tree

TEST = "test"
"""The comparison of the sealed test: the best skill with the initial one."""


@dataclass(frozen=True)
class Flip:
    """One item that was won or lost."""

    item: str
    verdict: Literal["won", "lost"]


@dataclass(frozen=True)
class Contest:
    """A comparison of two texts that the run made: of a step's gate (`key` is its number), or of the sealed test."""

    key: str
    label: str
    before: str
    after: str
    flips: tuple[Flip, ...]
    asked: int


@dataclass(frozen=True)
class Side:
    """One attempt. `directory` is empty where the run did not make it or did not keep it."""

    title: str
    directory: str
    row: RolloutRow | None
    score: float | None
    trajectory: Trajectory


@dataclass(frozen=True)
class SideBySide:
    """An item before and after a change."""

    item: str
    name: str
    question: str
    task_type: str
    golds: tuple[str, ...]
    contest: Contest
    before: Side
    after: Side
    images: tuple[str, ...] = ()
    """Names of the item's images (`records.items.image_file`)."""


def contests(run: Run) -> tuple[Contest, ...]:
    """Every comparison with at least one item turned over: the sealed test first, then steps, the last one first."""
    found = [c for c in (_step(run, record.step) for record in reversed(run.steps)) if c is not None and c.flips]
    tested = _test(run)
    return (tested, *found) if tested is not None else tuple(found)


def side_by_side(run: Run, key: str, item: str) -> SideBySide:
    """One item of a comparison. Raises `DataError` for one that the run did not make."""
    contest = _test(run) if key == TEST else _step(run, int(key)) if key.isdecimal() else None
    if contest is None:
        raise DataError(f"the run has no comparison {key!r}", hint="choose a step that reached the gate, or test")
    before = one_side(run, item, contest.before, _directory_before(run, key))
    after = one_side(
        run, item, contest.after, TEST_AFTER if key == TEST else f"{run.step_dir(int(key))}/selection_eval"
    )
    row = after.row or before.row
    question, kind = (row.question or row.task_description, row.task_type) if row is not None else ("", "")
    known = run.items.get(item)
    return SideBySide(
        item, readable_name(item, question), question, kind, known.golds if known is not None else (),
        contest, before, after, images_of(run, item),
    )  # fmt: skip


def images_of(run: Run, item: str) -> tuple[str, ...]:
    """Names of an item's images; a draw's number (`#2`) is not part of an item's name."""
    known = run.items.get(item) or run.items.get(item.rpartition("#")[0])
    return known.images if known is not None else ()


TEST_BEFORE, TEST_AFTER = "test_eval_baseline", "test_eval"


def _test(run: Run) -> Contest | None:
    paired = run.summary.paired if run.summary is not None else None
    if paired is None:
        return None
    return Contest(TEST, "sealed test", "initial skill", "best skill", _flips(paired.won, paired.lost), paired.n)


def _step(run: Run, step: int) -> Contest | None:
    record = run.step(step)
    if record is None or not record.gate.asked:
        return None
    gate = record.gate
    return Contest(
        str(step), f"step {step}: {gate.action.words}", "current skill", "candidate", _flips(gate.wins, gate.losses),
        gate.evaluated_n or 0,
    )  # fmt: skip


def _flips(won: tuple[str, ...], lost: tuple[str, ...]) -> tuple[Flip, ...]:
    """Lost ones first; a draw's number is not part of an item's name."""
    both = [Flip(name, "lost") for name in lost] + [Flip(name, "won") for name in won]
    return tuple(dict.fromkeys(both))


def _directory_before(run: Run, key: str) -> str:
    """Where the text that the candidate was compared with was measured."""
    if key == TEST:
        return TEST_BEFORE
    nodes = tree(run)
    node = next((n for n in nodes if n.label == f"step {key}"), None)
    return nodes[node.against].evidence if node is not None else ""


def one_side(run: Run, item: str, title: str, directory: str) -> Side:
    """One attempt, with what led to it."""
    if not directory:
        return Side(title, "", None, None, Trajectory((), "the run did not keep this measurement"))
    row = find_row(run, directory, item)
    if row is None:
        return Side(title, directory, None, None, Trajectory((), "this item was not asked with it"))
    return Side(title, directory, row, value(row, metric_of(run)), trajectory(run, directory, item))


def find_row(run: Run, directory: str, item: str) -> RolloutRow | None:
    """The item's row, of several draws the first, without building the others. Raises `RunDirError`."""
    path = run.root / directory / ROWS
    if not path.is_file():
        return None
    name, _, draw = item.rpartition("#")
    asked = (name, int(draw)) if name and draw.isdecimal() else (item, None)
    found: JsonObject | None = None
    for row in rows_of(path):
        if row.get("id") == item or (row.get("id") == asked[0] and row.get("repeat", 0) == (asked[1] or 0)):
            found = row
            break
    return None if found is None else decode(RolloutRow, found, str(path))
