"""The lineage of a run's texts as a tree: which text each change was made from, what became of it, and why.

Made of `history.json` and the results of epoch ends only, so that hundreds of steps are read at once. A text that was
given up (a draft) leads back to the one that was proven last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from skillopt.records.epoch import EpochRecord
from skillopt.records.gate import GateRecord
from skillopt.records.reading import Run
from skillopt.records.step import StepRecord
from skillopt.records.vocabulary import Action
from skillopt.views.arithmetic import arithmetic
from skillopt.views.measurements import mean, metric_of, value

Fate = Literal["initial", "proven", "kept", "draft", "refused", "undecided", "nothing", "given up"]


@dataclass(frozen=True)
class Node:
    """A text or a try. `parent` is the place (in the list) of the text it was made from, `against` that of the one it
    was compared with. `text` names the version that holds it where it became current, else it is blank. `evidence` is
    the directory of its gate's answers. `path` says that the best skill descends from it."""

    place: int
    parent: int | None
    label: str
    step: int
    epoch: int
    fate: Fate
    words: str
    reason: str
    why: tuple[str, ...] = ()
    score: float | None = None
    won: int = 0
    lost: int = 0
    edits: int = 0
    vetoed: int = 0
    text: str = ""
    evidence: str = ""
    against: int = 0
    interval: tuple[float, float] | None = None
    """Of the difference to what it was compared with, 95 %."""
    before: float | None = None
    """The score of what it was compared with."""
    best: bool = False
    path: bool = False

    @property
    def current(self) -> bool:
        """Whether the run went on with it."""
        return self.fate in ("initial", "proven", "kept", "draft")


def tree(run: Run) -> tuple[Node, ...]:
    """All texts and tries, in the order of the run."""
    grown = _Grown()
    grown.first(run)
    ends = {e: [r for r in run.epoch_results if r.epoch == e] for e in {r.epoch for r in run.epoch_results}}
    records = run.steps
    for n, record in enumerate(records):
        grown.step(record)
        if n + 1 == len(records) or records[n + 1].epoch != record.epoch:
            for result in ends.get(record.epoch, ()):
                grown.end(result, record)
    if run.summary is not None and run.summary.last_look is not None:
        grown.last_look(run.summary.last_look, records[-1] if records else None)
    return grown.done(run)


class _Grown:
    """Grows by one node after the other."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._current = self._proven = 0
        self._score: float | None = None
        self._new_best: list[int] = []

    def first(self, run: Run) -> None:
        self._score = _first_score(run)
        node = Node(0, None, "initial skill", 0, 0, "initial", "the run starts here", "", score=self._score, text="0",
                    evidence="selection_eval_baseline")  # fmt: skip
        self.nodes.append(node)

    def step(self, record: StepRecord) -> None:
        """A step's candidate, then its notes."""
        edits = record.edit_apply_summary.applied if record.edit_apply_summary is not None else record.n_edits_ranked
        base = f"steps/step_{record.step:04d}"
        evidence = f"{base}/selection_eval"
        self._add(f"step {record.step}", record.step, record.epoch, record.gate, evidence, edits, record.n_edits_vetoed)
        notes = record.notes.appendix if record.notes is not None else None
        if notes is not None and notes.action is not Action.NOT_TRIED:
            self._add(f"notes of step {record.step}", record.step, record.epoch, notes,
                      f"{base}/appendix_selection_eval")  # fmt: skip
        self._score = record.current_score if record.current_score is not None else self._score

    def end(self, result: EpochRecord, last: StepRecord) -> None:
        """One mechanism at the end of an epoch."""
        gate, label = result.gate, f"{result.stage.heading.casefold()} after epoch {result.epoch}"
        if gate.action is Action.DROP_DRAFT:
            self._node(label, last.step, result.epoch, gate, "given up", "")
            self._current = self._proven
        elif gate.action not in (Action.WRITE_META_SKILL, Action.KEEP_DRAFT):
            edits = result.edit_apply_summary.applied if result.edit_apply_summary is not None else 0
            evidence = f"{result.stage}/epoch_{result.epoch:02d}/selection_eval"
            self._add(label, last.step, result.epoch, gate, evidence, edits, len(result.vetoed))
        self._score = result.current_score if result.current_score is not None else self._score

    def last_look(self, gate: GateRecord, last: StepRecord | None) -> None:
        """What came of the draft that was left at the end."""
        step, epoch = (last.step, last.epoch) if last is not None else (0, 0)
        self._add("last look at the draft", step, epoch, gate, "final_selection_eval")

    def _add(
        self, label: str, step: int, epoch: int, gate: GateRecord, evidence: str, edits: int = 0, vetoed: int = 0
    ) -> None:
        fate = _fate(gate)
        place = self._node(label, step, epoch, gate, fate, evidence if gate.asked else "", edits, vetoed)
        if fate in ("proven", "kept", "draft") or gate.changed_current:
            self._current = place
        if gate.changed_current and gate.candidate_gate_score is not None:
            self._score = gate.candidate_gate_score
        if gate.action is Action.ACCEPT_NEW_BEST:
            self._new_best.append(place)
        if fate in ("proven", "kept") and gate.asked:
            self._proven = place

    def _node(
        self, label: str, step: int, epoch: int, gate: GateRecord, fate: Fate, evidence: str, edits: int = 0,
        vetoed: int = 0,
    ) -> int:  # fmt: skip
        place = len(self.nodes)
        self.nodes.append(
            Node(
                place, self._current, label, step, epoch, fate, gate.action.words, gate.reason,
                arithmetic(gate, self._score), gate.candidate_gate_score if gate.asked else None, len(gate.wins),
                len(gate.losses), edits, vetoed, str(step) if gate.changed_current else "", evidence, self._proven,
                gate.interval, self._score,
            )
        )  # fmt: skip
        return place

    def done(self, run: Run) -> tuple[Node, ...]:
        """The nodes, with the best one and its ancestors marked."""
        best = self._best(run)
        path = set(_ancestors(self.nodes, best))
        return tuple(replace(n, best=n.place == best, path=n.place in path) for n in self.nodes)

    def _best(self, run: Run) -> int:
        """The last one that a gate called the best; without a gate the last one that was kept."""
        if run.best == run.initial:
            return 0
        kept = [n.place for n in self.nodes if n.fate in ("proven", "kept")]
        return (self._new_best or kept or [0])[-1]


def _ancestors(nodes: list[Node], place: int | None) -> Iterator[int]:
    while place is not None:
        yield place
        place = nodes[place].parent


def _first_score(run: Run) -> float | None:
    """Of the initial skill on the selection split, by the run's metric."""
    if run.summary is not None and run.summary.baseline_selection.n:
        return run.summary.baseline_selection.shown
    metric = metric_of(run)
    draws: dict[str, list[float | None]] = {}
    for row in run.draws("selection_eval_baseline"):
        draws.setdefault(row.id, []).append(value(row, metric))
    return mean([mean(values) for values in draws.values()])


def _fate(gate: GateRecord) -> Fate:
    if gate.action.proven:
        return "proven"
    if gate.action is Action.DRAFT:
        return "draft"
    if gate.action is Action.UNDECIDED:
        return "undecided"
    if gate.changed_current:
        return "kept"
    return "refused" if gate.action is Action.REJECT else "nothing"
