"""One item as people ask about it: question, right answer, what was answered before and after, and every attempt.

`before` is an answer with exactly the initial skill's bytes, `after` one with the best skill's; where the run has none
they are None, and nothing else stands in for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from skillopt.core.errors import DataError
from skillopt.core.item import safe_name
from skillopt.gate.metric import Metric
from skillopt.records.items import ItemRow, readable_name
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow
from skillopt.views.measurements import Measurement, Split, mean, measurements, metric_of, value

_SHOWN = 6
_TEST_FIRST = ("test_eval", "test_eval_baseline", "final_selection_eval", "selection_eval_baseline")


@dataclass(frozen=True)
class Answer:
    """One attempt. `score` None is missing, and `reason` says why; `place` is its directory in the run."""

    label: str
    step: int | None
    score: float | None
    text: str
    reason: str
    skill_hash: str
    place: str


@dataclass(frozen=True)
class ItemView:
    """An item with all that the run knows of it."""

    id: str
    name: str
    split: Split
    task_type: str
    question: str
    golds: tuple[str, ...]
    before: Answer | None
    after: Answer | None
    attempts: tuple[Answer, ...]
    threshold: float = 1.0
    images: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What became of the item."""
        if self.before is None or self.after is None or self.before.score is None or self.after.score is None:
            return "not compared"
        before, after = self.before.score, self.after.score
        if after != before:
            return "won" if after > before else "lost"
        return "right both times" if after >= self.threshold else "wrong both times" if not after else "the same"


def item_views(run: Run, measured: Sequence[Measurement]) -> tuple[ItemView, ...]:
    """All items that the run has asked, in order of first appearance within selection, training and test."""
    attempts: dict[str, list[tuple[Measurement, RolloutRow]]] = {}
    for each in measured:
        for row in each.rows:
            attempts.setdefault(row.id, []).append((each, row))
    known = run.items
    return tuple(_view(run, name, rows, known.get(name)) for name, rows in attempts.items())


def find_item(run: Run, asked: str) -> ItemView:
    """The item of this id, of this directory name, or the only one whose id or name holds the words. Raises
    `DataError` that names near ones."""
    views = item_views(run, measurements(run))
    exact = [v for v in views if asked in (v.id, safe_name(v.id))]
    words = asked.casefold()
    found = exact or [v for v in views if v.id.casefold().startswith(words)]
    found = found or [v for v in views if words in v.id.casefold() or words in v.name.casefold()]
    if len(found) == 1:
        return found[0]
    names = [v.id for v in found] or get_close_matches(asked, [v.id for v in views], n=3, cutoff=0.4)
    names = names or [v.id for v in views[:3]]
    what = f"{len(found)} items are called like that" if found else "the run has no such item"
    raise DataError(f"{asked}: {what}", hint=f"for example {', '.join(names[:_SHOWN])}")


def _view(run: Run, item: str, rows: Sequence[tuple[Measurement, RolloutRow]], known: ItemRow | None) -> ItemView:
    metric = metric_of(run)
    question = next((text for _, row in rows if (text := row.question or row.task_description)), "")
    best, initial = run.best.hash, run.initial.hash
    summary = run.summary
    if summary is not None and summary.best_skill_hash:
        best, initial = summary.best_skill_hash, summary.initial_skill_hash
    answers = tuple(_answer(each, row, metric) for each, row in rows)
    return ItemView(
        item, readable_name(item, question), rows[0][0].split, rows[0][1].task_type, question,
        known.golds if known is not None else (), _with(rows, initial, metric), _with(rows, best, metric), answers,
        images=known.images if known is not None else (),
    )  # fmt: skip


def _with(rows: Sequence[tuple[Measurement, RolloutRow]], skill_hash: str, metric: Metric) -> Answer | None:
    """The answer with one skill; the sealed test's, or the last. The score is the mean of its draws there."""
    found = [(each, row) for each, row in rows if row.skill_hash == skill_hash]
    if not found:
        return None
    directories = [each.directory for each, _ in found]
    place = next((name for name in _TEST_FIRST if name in directories), directories[-1])
    draws = [(each, row) for each, row in found if each.directory == place]
    score = mean([value(row, metric) for _, row in draws])
    each, row = next(((e, r) for e, r in draws if r.status == "scored"), draws[-1])
    last = _answer(each, row, metric)
    return Answer(last.label, last.step, score, last.text, last.reason, last.skill_hash, last.place)


def _answer(each: Measurement, row: RolloutRow, metric: Metric) -> Answer:
    reason = row.error or "not measured" if row.status == "missing" else row.fail_reason or ""
    return Answer(
        each.label, each.step, value(row, metric), row.predicted_answer or "", reason, row.skill_hash,
        f"{each.directory}/predictions/{safe_name(row.id)}",
    )  # fmt: skip
